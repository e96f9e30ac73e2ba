// Creates a Schema from a JSON Schema document.

import { ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import type { Check, JsonSchema, Schema } from '../core/schema.js';
import { type InspectOptions, inspectSchema } from './inspect.js';
import { createCheck } from './validate.js';

export interface JsonSchemaOptions extends InspectOptions {
  /** Reject properties that the root does not declare (RUN-3). On for input, off for output. */
  readonly closed?: boolean;
  /** Inspect the document before the first check only: it is part of wield, or was inspected before it was stored. */
  readonly inspected?: boolean;
}

/**
 * Creates a Schema from a JSON Schema document, whose references by `$id` become local ones. Throws `invalid_definition`
 * if the document is invalid, too large or refers to other documents.
 */
export function createJsonSchema(
  given: JsonSchema | boolean,
  { closed = false, inspected = false, foreign = false }: JsonSchemaOptions = {},
): Schema {
  const json = inspected ? (given as JsonSchema) : inspectSchema(given, { foreign });
  if (closed && !inspected && !foreign) assertObject(json);
  let check: ((value: Json) => Promise<Check>) | undefined;
  return {
    json,
    async check(value) {
      check ??= createCheck(inspected ? inspectSchema(json, { foreign: true }) : json, closed);
      return await check(value);
    },
  };
}

// TOOL-3: an input has named parameters.
function assertObject({ type }: JsonSchema): void {
  if (type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))) return;
  throw new ToolError(
    'invalid_definition',
    `the schema has the type ${String(type)}, and the input of a tool is an object`,
    {
      hint: 'write type: "object", properties: { … }; with Zod, z.object({ … })',
    },
  );
}
