// JSON Schema as a Schema: bounded when it is made, checked by a validator that is loaded when first needed.

import { ToolError } from '../core/error.js';
import { isRecord, type Json } from '../core/json.js';
import type { Check, JsonSchema, Schema } from '../core/schema.js';

const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMA_NODES = 20_000;

export interface JsonSchemaOptions {
  /** Refuse properties that the root does not declare, as RUN-3 says. On for input, off for output. */
  readonly closed?: boolean;
}

// The validator is the heaviest thing a toolbox loads, and a listing checks nothing.
let validation: typeof import('./validate.js') | undefined;

/**
 * A Schema from a JSON Schema document. The document is bounded and self-contained, else `invalid_definition`;
 * the validator is made at the first check.
 */
export function createJsonSchema(json: JsonSchema, { closed = false }: JsonSchemaOptions = {}): Schema {
  const { hasPattern } = inspectSchema(json);
  let checkNow: ((value: Json) => Check) | undefined;
  const loadAndCheck = async (value: Json): Promise<Check> => {
    validation ??= await import('./validate.js');
    checkNow ??= validation.createCheck(json, { closed, hasPattern });
    return checkNow(value);
  };
  return { json, check: (value) => checkNow?.(value) ?? loadAndCheck(value) };
}

interface SchemaTraits {
  readonly hasPattern: boolean;
}

// Upstream schemas are untrusted: bounded in depth and size, no reference that leaves the document, and every
// regular expression compiles.
function inspectSchema(json: JsonSchema): SchemaTraits {
  if (!isRecord(json)) throw badSchema('', 'is not an object');
  let nodes = 0;
  let hasPattern = false;
  const walk = (node: unknown, path: string, depth: number): void => {
    if (depth > MAX_SCHEMA_DEPTH) throw badSchema(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    if (++nodes > MAX_SCHEMA_NODES) throw badSchema('', `has more than ${MAX_SCHEMA_NODES} parts`);
    if (Array.isArray(node)) {
      node.forEach((child, index) => {
        walk(child, `${path}/${index}`, depth + 1);
      });
      return;
    }
    if (!isRecord(node)) return;
    for (const [key, child] of Object.entries(node)) {
      if (key === '__proto__') throw badSchema(path, 'has the key "__proto__"');
      const data = key === 'const' || key === 'enum' || key === 'default' || key === 'examples';
      if ((key === '$ref' || key === '$dynamicRef') && typeof child === 'string' && !child.startsWith('#')) {
        throw badSchema(`${path}/${key}`, `refers to "${child}", which is outside the schema`);
      }
      if (key === 'pattern' && typeof child === 'string') {
        hasPattern = true;
        assertPattern(child, `${path}/pattern`);
      }
      if (key === 'patternProperties' && isRecord(child)) {
        hasPattern = true;
        for (const pattern of Object.keys(child)) assertPattern(pattern, `${path}/patternProperties`);
      }
      if (!data) walk(child, `${path}/${key}`, depth + 1);
    }
  };
  walk(json, '', 0);
  return { hasPattern };
}

function assertPattern(pattern: string, path: string): void {
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw badSchema(path, `"${pattern}" is not a regular expression`);
  }
}

function badSchema(path: string, problem: string): ToolError {
  return new ToolError('invalid_definition', `the schema${path === '' ? '' : ` at ${path}`} ${problem}`, {
    hint: 'give a JSON Schema (2020-12) whose references begin with "#"',
  });
}
