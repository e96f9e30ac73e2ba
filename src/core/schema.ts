// A schema's two faces: the JSON that callers are shown, and the check that is enforced.

import type { Json } from './json.js';

/** A JSON Schema document (2020-12). */
export type JsonSchema = { readonly [keyword: string]: Json };

/** One thing wrong with a value. */
export interface Fault {
  /** JSON Pointer to the value, empty for the whole. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
}

export type Check =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly faults: readonly Fault[] };

export interface Schema {
  /** What callers are shown. */
  readonly json: JsonSchema;
  /** What is enforced; a value that passes comes back with defaults filled in where the schema's author asked. */
  check(value: Json): Check | Promise<Check>;
}

/** The published schema of a tool without parameters (TOOL-3). */
export const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };
