// Describes bytes: text, JSON or binary, the shape of JSON, and a preview.

import { StringDecoder } from 'node:string_decoder';
import type { Json } from '../../core/json.js';
import { parseOutput } from '../../core/json.js';
import { isLargeJson } from '../../core/json-size.js';
import type { ContentKind } from '../../core/store.js';
import { formatBytes, sanitize } from '../../core/text.js';
import { sampleJson } from '../json-sample.js';
import { inferShape } from '../json-shape.js';

const PREVIEW_CHARACTERS = 500;
const PREVIEW_BYTES = 32;
/** How many bytes at the start a preview may need. */
export const HEAD_BYTES = 4096;

export interface Description {
  readonly kind: ContentKind;
  readonly shape?: string;
  readonly preview: string;
}

/** Checks a stream for valid UTF-8 without NUL. */
export function createTextCheck() {
  // Handles characters that are split between chunks.
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
    add: (chunk: Uint8Array): void => decode(chunk),
    isText(): boolean {
      decode(undefined);
      return text;
    },
  };
}

export function toBytes(content: Uint8Array | string): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : content;
}

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

/** Describes content by its first bytes; `text` returns all of it, or undefined if it is too large. */
export function describeParts(parts: {
  readonly isText: boolean;
  readonly head: Uint8Array;
  readonly size: number;
  readonly text: () => string | undefined;
}): Description {
  const { isText, head, size, text } = parts;
  const json = isText ? findStructure(head, text) : undefined;
  const kind = !isText ? 'binary' : json === undefined ? 'text' : 'json';
  return { kind, shape: json === undefined ? undefined : inferShape(json), preview: toPreview(head, kind, size) };
}

// Only objects and arrays count as JSON; a single word or number is more likely text. What is too large to be parsed
// here goes by its brackets and the beginnings of its arrays and objects.
function findStructure(head: Uint8Array, text: () => string | undefined): Json | undefined {
  if (!/^\s*[[{]/.test(Buffer.from(head).toString('latin1'))) return undefined;
  const whole = text() ?? '';
  return isLargeJson(whole) ? sampleJson(whole) : parseOutput(whole);
}

// Returns the start of the content without control characters, cut between characters.
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
