// Line patches: the common format of edits to text (CTX-11).

import type { core } from 'zod';
import type { JsonSchema } from '../core/schema.js';

/** A change of lines; line numbers refer to the text before any change. */
export interface LinePatch {
  /** First line, from 1. */
  readonly start_line: number;
  /** Last line, inclusive; 0 inserts before `start_line`. */
  readonly end_line: number;
  /** The new lines; empty deletes the lines. */
  readonly content: string;
  /** The lines as they must be now. */
  readonly expected?: string;
}

const JSON_SCHEMA = {
  type: 'object',
  properties: {
    start_line: {
      type: 'integer',
      minimum: 1,
      description: 'First line to replace, from 1; one past the last line to append',
    },
    end_line: {
      type: 'integer',
      minimum: 0,
      description: 'Last line to replace, included; 0 inserts before start_line and replaces nothing',
    },
    content: { type: 'string', description: 'The new lines; empty deletes the old ones' },
    expected: { type: 'string', description: 'The lines as they are now; where they differ, nothing is changed' },
  },
  required: ['start_line', 'end_line', 'content'],
  additionalProperties: false,
} as const satisfies JsonSchema;

/**
 * Schema of one patch, for the input of tools that edit text: a JSON Schema that can also be used inside a Zod schema,
 * as in `z.array(LinePatchSchema)`.
 */
export const LinePatchSchema: typeof JSON_SCHEMA & core.$ZodType<LinePatch, LinePatch> = Object.freeze(
  Object.defineProperties({ ...JSON_SCHEMA }, { _zod: { get: () => toZod()._zod } }),
) as never;

let zod: core.$ZodType | undefined;

// Zod is loaded on first use, since it takes longer than most calls.
function toZod(): core.$ZodType {
  if (zod === undefined) {
    const { createRequire } = process.getBuiltinModule('node:module');
    const { z } = createRequire(import.meta.url)('zod') as typeof import('zod');
    const { start_line: start, end_line: end, content, expected } = JSON_SCHEMA.properties;
    zod = z.strictObject({
      start_line: z.int().min(start.minimum).describe(start.description),
      end_line: z.int().min(end.minimum).describe(end.description),
      content: z.string().describe(content.description),
      expected: z.string().describe(expected.description).optional(),
    });
  }
  return zod;
}
