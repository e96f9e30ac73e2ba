// Creates a Schema from a JSON Schema document; the validator is loaded at the first check.

import type { Json } from '../core/json.js';
import type { Check, JsonSchema, Schema } from '../core/schema.js';
import { inspectSchema } from './inspect.js';
import { nextTurn } from './run.js';

export interface JsonSchemaOptions {
  /** Reject properties that the root does not declare (RUN-3). On for input, off for output. */
  readonly closed?: boolean;
  /** Inspect the document before the first check only: it was inspected before it was stored (10 % of a listing). */
  readonly inspected?: boolean;
}

// Loaded lazily: the validator is large, and listing tools does not need it.
let validation: typeof import('./validate.js') | undefined;

/**
 * Creates a Schema from a JSON Schema document. Throws `invalid_definition` if the document is too large or refers to
 * other documents.
 */
export function createJsonSchema(
  json: JsonSchema,
  { closed = false, inspected = false }: JsonSchemaOptions = {},
): Schema {
  if (!inspected) inspectSchema(json);
  let checkNow: ((value: Json) => Check | Promise<Check>) | undefined;
  const checkLater = async (value: Json, turn: Promise<void> | undefined): Promise<Check> => {
    await turn;
    validation ??= await import('./validate.js');
    if (inspected && checkNow === undefined) inspectSchema(json);
    checkNow ??= validation.createCheck(json, closed);
    return checkNow(value);
  };
  return {
    json,
    check(value) {
      const turn = nextTurn();
      return turn === undefined && checkNow !== undefined ? checkNow(value) : checkLater(value, turn);
    },
  };
}
