// Resolves schemas at run time: `$resolve` is the path of the schema in a context (HLP-5).

import { isToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { pathGet } from './paths.js';

/** Returns the object at the path in `$resolve`, or the schema itself if there is none. */
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
