// Turns the validator's error units into faults that name the value, what was expected and what was found.

import type { OutputUnit } from '@cfworker/json-schema';
import { describeValue, escapePointer, isRecord, type Json } from '../core/json.js';
import type { Fault, JsonSchema } from '../core/schema.js';
import { listSome } from '../core/text.js';

// Keywords that only report that a subschema failed.
const WRAPPERS = new Set([
  'properties',
  'patternProperties',
  'items',
  'prefixItems',
  'allOf',
  '$ref',
  '$dynamicRef',
  'dependentSchemas',
  'if',
  'then',
  'else',
  // Reported by the keyword that has the `false`.
  'false',
]);
const UNIONS = new Set(['anyOf', 'oneOf']);
const CLOSING = new Set(['unevaluatedProperties', 'additionalProperties']);

/** Returns the faults of a value; a fault is not repeated for each schema around it. */
export function explain(units: readonly OutputUnit[], schema: JsonSchema, value: Json): Fault[] {
  // Each branch of a union reports its own failure; the union itself is the fault.
  const unions = units.filter((unit) => UNIONS.has(unit.keyword)).map((unit) => unit.keywordLocation);
  const isInUnion = ({ keywordLocation }: OutputUnit): boolean =>
    unions.some((location) => keywordLocation.startsWith(`${location}/`));
  const faults = new Map<string, Fault>();
  const add = (fault: Fault): void => {
    faults.set(`${fault.path}\n${fault.expected}`, fault);
  };
  const undeclared: string[] = [];
  for (const [at, unit] of units.entries()) {
    if (WRAPPERS.has(unit.keyword) || isInUnion(unit)) continue;
    // The unit after this one is about the property itself.
    if (CLOSING.has(unit.keyword)) undeclared.push(units[at + 1]!.instanceLocation);
    else for (const fault of toFaults(unit, schema, value)) add(fault);
  }
  const faulty = [...faults.values()].map((fault) => fault.path);
  for (const location of undeclared) {
    const path = toPointer(location);
    // A declared property that failed is "unevaluated" too; its own fault says enough.
    if (faulty.some((other) => other === path || other.startsWith(`${path}/`))) continue;
    const name = steps(location).at(-1);
    add({ kind: 'unknown', path, expected: 'no such parameter', got: `undeclared "${name}"` });
  }
  return faults.size > 0
    ? [...faults.values()]
    : [{ kind: 'value', path: '', expected: 'a value that fits the schema', got: describeValue(value) }];
}

function toFaults(unit: OutputUnit, schema: JsonSchema, value: Json): Fault[] {
  const path = toPointer(unit.instanceLocation);
  const limit = lookUp(schema, unit.keywordLocation);
  const found = lookUp(value, unit.instanceLocation);
  const missing = missingNames(unit.keyword, limit, found);
  if (missing === undefined) {
    const kind = unit.keyword === 'type' ? 'type' : 'value';
    return [{ kind, path, expected: expectation(unit, limit), got: describeValue(found) }];
  }
  return missing.map((name) => ({
    kind: 'missing',
    path: `${path}/${escapePointer(name)}`,
    expected: 'a value, since it is required',
    got: 'nothing',
  }));
}

// The required properties that an object lacks; undefined for other keywords.
function missingNames(keyword: string, limit: unknown, found: unknown): string[] | undefined {
  if (!isRecord(found)) return undefined;
  const lacks = (name: unknown): name is string => typeof name === 'string' && !Object.hasOwn(found, name);
  if (keyword === 'required' && Array.isArray(limit)) return limit.filter(lacks);
  if (keyword !== 'dependentRequired' || !isRecord(limit)) return undefined;
  return Object.entries(limit).flatMap(([name, needed]) =>
    Object.hasOwn(found, name) && Array.isArray(needed) ? needed.filter(lacks) : [],
  );
}

function expectation(unit: OutputUnit, limit: unknown): string {
  const text = JSON.stringify(limit);
  switch (unit.keyword) {
    case 'type':
      return Array.isArray(limit) ? limit.join(' or ') : String(limit);
    case 'enum':
      return `one of ${Array.isArray(limit) ? listSome(limit.map((choice) => JSON.stringify(choice))) : text}`;
    case 'const':
      return `exactly ${text}`;
    case 'minimum':
      return `at least ${text}`;
    case 'maximum':
      return `at most ${text}`;
    case 'exclusiveMinimum':
      return `more than ${text}`;
    case 'exclusiveMaximum':
      return `less than ${text}`;
    case 'multipleOf':
      return `a multiple of ${text}`;
    case 'minLength':
      return `text of at least ${text} characters`;
    case 'maxLength':
      return `text of at most ${text} characters`;
    case 'pattern':
      return `text that matches ${String(limit)}`;
    case 'format':
      return `text in the format ${String(limit)}`;
    case 'minItems':
      return `at least ${text} entries`;
    case 'maxItems':
      return `at most ${text} entries`;
    case 'uniqueItems':
      return 'entries that all differ';
    case 'anyOf':
    case 'oneOf':
      return unionExpectation(limit, unit.keyword);
    default:
      return `what "${unit.keyword}" in the schema says`;
  }
}

function unionExpectation(branches: unknown, keyword: string): string {
  const kinds = Array.isArray(branches)
    ? branches.map((branch) =>
        isRecord(branch) && typeof branch.type === 'string' ? branch.type : undefined,
      )
    : [];
  const known = kinds.filter((kind) => kind !== undefined);
  if (known.length > 0 && known.length === kinds.length) return [...new Set(known)].join(' or ');
  return keyword === 'oneOf'
    ? 'exactly one of the alternatives in the schema'
    : 'one of the alternatives in the schema';
}

// Resolves a location of the validator: a JSON Pointer as URI fragment.
function lookUp(root: unknown, location: string): unknown {
  let node = root;
  for (const step of steps(location)) {
    if (typeof node !== 'object' || node === null) return undefined;
    node = (node as Record<string, unknown>)[step];
    if (step === '$ref' && typeof node === 'string') node = lookUp(root, node);
  }
  return node;
}

function steps(location: string): string[] {
  const fragment = location.slice(location.indexOf('#') + 1);
  if (fragment === '' || fragment === '/') return [];
  return fragment
    .replace(/^\//, '')
    .split('/')
    .map((step) => safeDecode(step).replace(/~1/g, '/').replace(/~0/g, '~'));
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function toPointer(location: string): string {
  const fragment = location.slice(location.indexOf('#') + 1);
  return fragment === '' ? '' : safeDecode(fragment);
}
