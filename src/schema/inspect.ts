// Inspects a JSON Schema before it is used.

import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { type JsonSchema, lookUp } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';
import { isRegex } from './formats.js';
import { findKeywordFault } from './keywords.js';
import { idKeyOf, LISTS, MAPS, ONE, toLocalReferences } from './references.js';

const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMA_NODES = 20_000;
// With the values of `enum`, `default` etc.
const MAX_SCHEMA_VALUES = 50_000;
const MAX_PATTERN_LENGTH = 4096;
// Length of a chain of references for one value.
const MAX_REFERENCES = 200;

type SchemaPath = readonly string[];

export interface InspectOptions {
  /** Take keywords with invalid values as they are: nobody here can fix them. */
  readonly foreign?: boolean;
}

/**
 * Limits depth and size, and rejects external references and invalid regular expressions: schemas of servers and
 * documents are untrusted. Returns the schema with local references only. Throws `invalid_definition`.
 */
export function inspectSchema(given: JsonSchema | boolean, { foreign = false }: InspectOptions = {}): JsonSchema {
  if (typeof given === 'boolean') return given ? {} : { not: {} };
  if (!isRecord(given)) throw badSchema([], 'is not an object');
  const json = assertSize(given) ? toLocalReferences(given) : given;
  const path: string[] = [];
  // References can point to parts that no keyword contains.
  const known = new Set<unknown>();
  const targets: { readonly node: unknown; readonly path: SchemaPath }[] = [];
  const walk = (node: unknown): void => {
    if (!isRecord(node) || known.has(node)) return;
    known.add(node);
    if (known.size > MAX_SCHEMA_NODES) throw badSchema([], `has more than ${MAX_SCHEMA_NODES} parts`);
    for (const keyword of Object.keys(node)) {
      path.push(keyword);
      walkValue(keyword, node[keyword]);
      path.pop();
    }
  };
  const walkAll = (children: object): void => {
    for (const [key, child] of Object.entries(children)) {
      path.push(key);
      walk(child);
      path.pop();
    }
  };
  const walkValue = (keyword: string, value: unknown): void => {
    const fault = foreign ? undefined : findKeywordFault(keyword, value);
    if (fault !== undefined) throw badSchema(path, fault.problem, fault.hint);
    if (typeof value === 'string') {
      if (keyword === 'pattern') assertPattern(value, path);
      if (/^\$(?:dynamic|recursive)?ref$/i.test(keyword))
        targets.push({ node: resolve(json, value, path), path: [...path] });
    } else if (Array.isArray(value)) {
      if (LISTS.has(keyword)) walkAll(value);
    } else if (isRecord(value)) {
      if (ONE.has(keyword)) walk(value);
      else if (MAPS.has(keyword)) walkAll(value);
      if (keyword === 'patternProperties') for (const pattern of Object.keys(value)) assertPattern(pattern, path);
    }
  };
  walk(json);
  for (const target of targets) {
    path.splice(0, path.length, ...target.path);
    walk(target.node);
  }
  if (targets.length > 0) assertAcyclic(json, known);
  return json;
}

// Counts everything, data included; returns whether there is an address.
function assertSize(json: JsonSchema): boolean {
  const path: string[] = [];
  let values = 0;
  let hasId = false;
  const idKey = idKeyOf(json);
  const count = (value: unknown): void => {
    if (path.length > MAX_SCHEMA_DEPTH) throw badSchema(path, `is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    if (++values > MAX_SCHEMA_VALUES) throw badSchema([], `has more than ${MAX_SCHEMA_VALUES} values`);
    if (typeof value !== 'object' || value === null) return;
    for (const key of Object.keys(value)) {
      if (key === '__proto__') throw badSchema(path, 'has the key "__proto__"');
      hasId ||= key === idKey;
      path.push(key);
      count((value as Record<string, unknown>)[key]);
      path.pop();
    }
  };
  count(json);
  return hasId;
}

function resolve(json: JsonSchema, ref: string, path: SchemaPath): unknown {
  if (!ref.startsWith('#')) throw badSchema(path, `refers to "${ref}", which is outside the schema`);
  const target = lookUp(json, ref);
  if (target === undefined) throw badSchema(path, `refers to "${ref}", which does not exist`);
  return target;
}

// Keywords whose subschemas apply to the same value.
const IN_PLACE = ['not', 'if', 'then', 'else', 'allOf', 'anyOf', 'oneOf'];
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];

// Rejects schemas that refer to themselves for the same value: validation would not terminate. Recursion into a part of
// the value is fine.
function assertAcyclic(json: JsonSchema, nodes: Iterable<unknown>): void {
  const done = new Set<unknown>();
  const open = new Set<unknown>();
  const enter = (node: unknown): void => {
    if (Array.isArray(node)) for (const child of node) enter(child);
    if (!isRecord(node) || done.has(node)) return;
    if (open.has(node)) throw badSchema([], 'refers to itself for the same value');
    if (open.size > MAX_REFERENCES) throw badSchema([], `has a chain of more than ${MAX_REFERENCES} references`);
    open.add(node);
    for (const key of REFERENCES) if (typeof node[key] === 'string') enter(lookUp(json, node[key]));
    for (const key of IN_PLACE) enter(node[key]);
    if (isRecord(node.dependentSchemas)) Object.values(node.dependentSchemas).forEach(enter);
    open.delete(node);
    done.add(node);
  };
  for (const node of nodes) enter(node);
}

function assertPattern(pattern: string, path: SchemaPath): void {
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw badSchema(path, `has a pattern longer than ${MAX_PATTERN_LENGTH} characters`);
  if (!isRegex(pattern)) throw badSchema(path, `"${pattern}" is not a regular expression`);
}

const HINT = 'use JSON Schema 2020-12 with references that begin with "#"';

function badSchema(path: SchemaPath, problem: string, hint = HINT): ToolError {
  const where = path.map((step) => `/${step}`).join('');
  const at = where === '' ? '' : ` at ${quoteOutside(where)}`;
  return new ToolError('invalid_definition', `the schema${at} ${quoteOutside(problem, 200)}`, { hint });
}
