// A form of configuration files: how one is read, and how one entry of it is set or taken out with all else kept.

import type { Json, JsonObject } from '../../core/json.js';

/** A way into a document: keys from its root. */
export type KeyPath = readonly string[];

/** Thrown by a form: what is wrong with a text, and on which line. */
export class FormFault extends Error {
  readonly line: number | null;

  constructor(message: string, line: number | null) {
    super(message);
    this.line = line;
  }
}

/** Texts come without a byte order mark; `eol` is the line break that the file has. */
export interface Form {
  /** The document; an empty text is an empty one. Throws `FormFault`. */
  parse(text: string): unknown;
  /** The text with this value at this path; objects on the way are made where they are missing. Throws `FormFault`. */
  set(text: string, path: KeyPath, value: JsonObject, eol: string): string;
  /** The text without what stands at this path. Throws `FormFault`. */
  remove(text: string, path: KeyPath): string;
}

/** What stands at a path of a document; undefined where nothing does. */
export function valueAt(document: unknown, path: KeyPath): unknown {
  let node: unknown = document;
  for (const key of path) {
    if (typeof node !== 'object' || node === null || Array.isArray(node) || !Object.hasOwn(node, key))
      return undefined;
    node = (node as Record<string, unknown>)[key];
  }
  return node;
}

/** A copy of a document with this value at this path, or without anything there. */
export function withValue(document: unknown, path: KeyPath, value: Json | undefined): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const copy: Record<string, unknown> =
    typeof document === 'object' && document !== null && !Array.isArray(document) ? { ...document } : {};
  if (rest.length === 0 && value === undefined) delete copy[key];
  else copy[key] = withValue(copy[key], rest, value);
  return copy;
}

/** The line that an offset lies on, from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
