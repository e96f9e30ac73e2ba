// Schemas that are found at run time: `$resolve` names where in a context the real one stands (HLP-5).

import { isToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import { pathGet } from './paths.js';

/** The object that the path in `$resolve` leads to; where it leads to none, the schema as it stands. */
export function resolveJsonSchema(schema: JsonSchema, context: unknown): JsonSchema;
export function resolveJsonSchema(schema: JsonSchema | undefined, context: unknown): JsonSchema | undefined;
export function resolveJsonSchema(schema: JsonSchema | undefined, context: unknown): JsonSchema | undefined {
  if (typeof schema?.$resolve !== 'string') return schema;
  try {
    const found = pathGet(context, schema.$resolve);
    return isRecord(found) ? (found as JsonSchema) : schema;
  } catch (error) {
    if (isToolError(error)) return schema;
    throw error;
  }
}
