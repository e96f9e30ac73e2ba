// Says of bytes what they are: text, JSON or neither, the shape of JSON, and a few characters for the whole.

import { StringDecoder } from 'node:string_decoder';
import type { Json } from '../../core/json.js';
import { inferShape } from '../../core/json-shape.js';
import type { ContentKind } from '../../core/store.js';
import { formatBytes, sanitize } from '../../core/text.js';

const PREVIEW_CHARACTERS = 500;
const PREVIEW_BYTES = 32;
/** As much of the beginning as a preview can need. */
export const HEAD_BYTES = 4096;

export interface Description {
  readonly kind: ContentKind;
  readonly shape?: string;
  readonly preview: string;
}

/** What is known while bytes stream by: whether all of them are valid UTF-8 without a NUL. */
export interface TextCheck {
  add(chunk: Uint8Array): void;
  isText(): boolean;
}

export function createTextCheck(): TextCheck {
  // The one decoder that knows of characters cut between two chunks and refuses what is none.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let text = true;
  const decode = (chunk: Uint8Array | undefined): void => {
    if (!text) return;
    try {
      decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      text = false;
    }
    if (chunk?.includes(0)) text = false;
  };
  return {
    add: decode,
    isText() {
      decode(undefined);
      return text;
    },
  };
}

/** Text as it is stored. */
export function toBytes(content: Uint8Array | string): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : content;
}

/** The description of bytes that are all there. */
export function describeContent(bytes: Uint8Array): Description {
  const check = createTextCheck();
  check.add(bytes);
  return describeParts({
    isText: check.isText(),
    head: bytes.subarray(0, HEAD_BYTES),
    size: bytes.length,
    text: () => Buffer.from(bytes).toString('utf8'),
  });
}

/** The description of bytes of which the beginning is at hand; `text` gives the whole, undefined where that is too much. */
export function describeParts(parts: {
  readonly isText: boolean;
  readonly head: Uint8Array;
  readonly size: number;
  readonly text: () => string | undefined;
}): Description {
  const { isText, head, size, text } = parts;
  const json = isText ? parseStructure(head, text) : undefined;
  const kind = !isText ? 'binary' : json === undefined ? 'text' : 'json';
  return {
    kind,
    ...(json === undefined ? {} : { shape: inferShape(json) }),
    preview: toPreview(head, kind, size),
  };
}

// A lone word or number is JSON too, and nobody means it; an object or array is worth a shape.
function parseStructure(head: Uint8Array, text: () => string | undefined): Json | undefined {
  if (!/^\s*[[{]/.test(Buffer.from(head).toString('latin1'))) return undefined;
  try {
    return JSON.parse(text() ?? '') as Json;
  } catch {
    return undefined;
  }
}

// The beginning, harmless for a terminal and cut at a whole character.
function toPreview(head: Uint8Array, kind: ContentKind, size: number): string {
  if (kind === 'binary') {
    const bytes = Buffer.from(head.subarray(0, PREVIEW_BYTES))
      .toString('hex')
      .replace(/(..)(?=.)/g, '$1 ');
    return `${bytes}${size > PREVIEW_BYTES ? ' …' : ''} (${formatBytes(size)})`;
  }
  const characters = [...sanitize(new StringDecoder('utf8').write(Buffer.from(head)))];
  const preview = characters.slice(0, PREVIEW_CHARACTERS).join('');
  return characters.length > PREVIEW_CHARACTERS || head.length < size ? `${preview}…` : preview;
}
