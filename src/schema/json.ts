// Creates a Schema from a JSON Schema document; the validator is loaded at the first check.

import { ToolError } from '../core/error.js';
import { isRecord, type Json } from '../core/json.js';
import { type Check, type JsonSchema, lookUp, type Schema } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';

const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMA_NODES = 20_000;
// Length of a chain of references for one value.
const MAX_REFERENCES = 200;

export interface JsonSchemaOptions {
  /** Reject properties that the root does not declare (RUN-3). On for input, off for output. */
  readonly closed?: boolean;
}

// Loaded lazily: the validator is large, and listing tools does not need it.
let validation: typeof import('./validate.js') | undefined;

/**
 * Creates a Schema from a JSON Schema document. Throws `invalid_definition` if the document is too large or refers to
 * other documents.
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

type SchemaPath = readonly (string | number)[];

/** Keywords whose values are data, not schemas. */
export const DATA: ReadonlySet<string | number> = new Set(['const', 'enum', 'default', 'examples']);

interface SchemaTraits {
  readonly hasPattern: boolean;
}

// Upstream schemas are untrusted: limits depth and size, rejects external references and invalid regular expressions.
function inspectSchema(json: JsonSchema): SchemaTraits {
  if (!isRecord(json)) throw badSchema([], 'is not an object');
  const path: (string | number)[] = [];
  let nodes = 0;
  let hasPattern = false;
  let hasReference = false;
  const walk = (node: unknown): void => {
    if (path.length > MAX_SCHEMA_DEPTH)
      throw badSchema(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    if (++nodes > MAX_SCHEMA_NODES) throw badSchema([], `has more than ${MAX_SCHEMA_NODES} parts`);
    if (typeof node !== 'object' || node === null) return;
    if (Array.isArray(node)) {
      for (let index = 0; index < node.length; index++) walkInto(index, node[index]);
      return;
    }
    for (const key of Object.keys(node)) walkInto(key, (node as Record<string, unknown>)[key]);
  };
  const walkInto = (key: string | number, child: unknown): void => {
    path.push(key);
    switch (key) {
      case '__proto__':
        throw badSchema(path.slice(0, -1), 'has the key "__proto__"');
      case '$ref':
      case '$dynamicRef':
        if (typeof child === 'string' && !child.startsWith('#'))
          throw badSchema(path, `refers to "${child}", which is outside the schema`);
        hasReference = true;
        break;
      case 'pattern':
        if (typeof child !== 'string') break;
        hasPattern = true;
        assertPattern(child, path);
        break;
      case 'patternProperties':
        if (!isRecord(child)) break;
        hasPattern = true;
        for (const pattern of Object.keys(child)) assertPattern(pattern, path);
        break;
    }
    if (!DATA.has(key)) walk(child);
    path.pop();
  };
  walk(json);
  if (hasReference) assertAcyclic(json);
  return { hasPattern };
}

// Keywords whose subschemas apply to the same value.
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'];
const IN_PLACE = ['not', 'if', 'then', 'else'];

// Rejects schemas that refer to themselves for the same value: validation would not terminate. Recursion into a part of
// the value is fine.
function assertAcyclic(json: JsonSchema): void {
  const done = new Set<unknown>();
  const open = new Set<unknown>();
  const enter = (node: unknown): void => {
    if (!isRecord(node) || done.has(node)) return;
    if (open.has(node)) throw badSchema([], 'refers to itself for the same value');
    if (open.size > MAX_REFERENCES)
      throw badSchema([], `has a chain of more than ${MAX_REFERENCES} references`);
    open.add(node);
    if (typeof node.$ref === 'string') enter(lookUp(json, node.$ref));
    for (const key of IN_PLACE) enter(node[key]);
    for (const key of IN_PLACE_LISTS) if (Array.isArray(node[key])) node[key].forEach(enter);
    open.delete(node);
    done.add(node);
  };
  const visit = (node: unknown): void => {
    enter(node);
    if (typeof node === 'object' && node !== null)
      for (const [key, child] of Object.entries(node)) if (!DATA.has(key)) visit(child);
  };
  visit(json);
}

function assertPattern(pattern: string, path: SchemaPath): void {
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw badSchema(path, `"${pattern}" is not a regular expression`);
  }
}

function badSchema(path: SchemaPath, problem: string): ToolError {
  const where = path.map((step) => `/${step}`).join('');
  const place = where === '' ? '' : ` at ${quoteOutside(where)}`;
  return new ToolError('invalid_definition', `the schema${place} ${quoteOutside(problem, 200)}`, {
    hint: 'use JSON Schema 2020-12 with references that begin with "#"',
  });
}
