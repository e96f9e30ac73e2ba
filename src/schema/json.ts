// Creates a Schema from a JSON Schema document.

import type { Json } from '../core/json.js';
import type { Check, JsonSchema, Schema } from '../core/schema.js';
import { inspectSchema } from './inspect.js';
import { createCheck } from './validate.js';

export interface JsonSchemaOptions {
  /** Reject properties that the root does not declare (RUN-3). On for input, off for output. */
  readonly closed?: boolean;
  /** Inspect the document before the first check only: it was inspected before it was stored. */
  readonly inspected?: boolean;
}

/**
 * Creates a Schema from a JSON Schema document, whose references by `$id` become local ones. Throws `invalid_definition`
 * if the document is too large or refers to other documents.
 */
export function createJsonSchema(
  given: JsonSchema | boolean,
  { closed = false, inspected = false }: JsonSchemaOptions = {},
): Schema {
  const json = inspected ? (given as JsonSchema) : inspectSchema(given);
  let check: ((value: Json) => Promise<Check>) | undefined;
  return {
    json,
    async check(value) {
      check ??= createCheck(inspected ? inspectSchema(json) : json, closed);
      return await check(value);
    },
  };
}
