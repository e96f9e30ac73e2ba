// The interface of configuration formats: parse a file, and set or remove one entry in place.

import type { Json, JsonObject } from '../../core/json.js';

/** Keys from the root of a document. */
export type KeyPath = readonly string[];

/** A parse or edit error of a form. */
export class FormFault extends Error {
  readonly line: number | null;

  constructor(message: string, line: number | null) {
    super(message);
    this.line = line;
  }
}

/** Texts have no byte order mark; `eol` is the line break of the file. */
export interface Form {
  /** Parses a document; an empty text is an empty document. Throws `FormFault`. */
  parse(text: string): unknown;
  /** Sets a value, creating missing parent objects. Throws `FormFault`. */
  set(text: string, path: KeyPath, value: JsonObject, eol: string): string;
  /** Removes the value at a path. Throws `FormFault`. */
  remove(text: string, path: KeyPath): string;
}

export function valueAt(document: unknown, path: KeyPath): unknown {
  let node: unknown = document;
  for (const key of path) {
    if (typeof node !== 'object' || node === null || Array.isArray(node) || !Object.hasOwn(node, key)) return undefined;
    node = (node as Record<string, unknown>)[key];
  }
  return node;
}

/** Returns a copy of a document with a value set, or removed if undefined. */
export function withValue(document: unknown, path: KeyPath, value: Json | undefined): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const copy: Record<string, unknown> =
    typeof document === 'object' && document !== null && !Array.isArray(document) ? { ...document } : {};
  if (rest.length === 0 && value === undefined) delete copy[key];
  else copy[key] = withValue(copy[key], rest, value);
  return copy;
}
