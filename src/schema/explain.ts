// Faults for people from the validator's error units: one entry a fault, leaves only, in words.

import type { OutputUnit } from '@cfworker/json-schema';
import { describeValue, escapePointer, isRecord, type Json } from '../core/json.js';
import type { Fault, JsonSchema } from '../core/schema.js';
import { listSome } from '../core/text.js';

// Keywords that only say that something below them failed.
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
]);
const UNIONS = new Set(['anyOf', 'oneOf']);

/** The faults of a value, without repeating a fault for each schema above it. */
export function explain(units: readonly OutputUnit[], schema: JsonSchema, value: Json): Fault[] {
  // Inside a union every branch reports its own failure; the union itself is the fault.
  const unions = units.filter((unit) => UNIONS.has(unit.keyword)).map((unit) => unit.keywordLocation);
  const faults = new Map<string, Fault>();
  const add = (fault: Fault): void => {
    faults.set(`${fault.path}\n${fault.expected}`, fault);
  };
  const leaves = units.filter(
    (unit) =>
      !WRAPPERS.has(unit.keyword) &&
      !unions.some((location) => unit.keywordLocation.startsWith(`${location}/`)),
  );
  for (const unit of leaves) {
    if (isUndeclared(unit)) continue;
    const path = toPointer(unit.instanceLocation);
    if (unit.keyword === 'false') continue;
    if (unit.keyword === 'required' || unit.keyword === 'dependentRequired') {
      const name = /(?:required property|does not have) "(.*)"\.$/s.exec(unit.error)?.[1] ?? '';
      add({
        path: `${path}/${escapePointer(name)}`,
        expected: 'a value, since it is required',
        got: 'nothing',
      });
      continue;
    }
    add({
      path,
      expected: expectation(unit, lookUp(schema, unit.keywordLocation)),
      got: describeValue(lookUp(value, unit.instanceLocation)),
    });
  }
  const faulty = [...faults.values()].map((fault) => fault.path);
  for (const unit of leaves) {
    if (!isUndeclared(unit)) continue;
    const name = /^Property "(.*)" does not match/s.exec(unit.error)?.[1];
    if (name === undefined) continue;
    const path = `${toPointer(unit.instanceLocation)}/${escapePointer(name)}`;
    // A declared property that failed is "unevaluated" too; its own fault says enough.
    if (faulty.some((other) => other === path || other.startsWith(`${path}/`))) continue;
    add({ path, expected: 'no such parameter', got: `undeclared "${name}"` });
  }
  return faults.size > 0
    ? [...faults.values()]
    : [{ path: '', expected: 'a value that fits the schema', got: describeValue(value) }];
}

function isUndeclared(unit: OutputUnit): boolean {
  return unit.keyword === 'unevaluatedProperties' || unit.keyword === 'additionalProperties';
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

// The validator's locations are URI fragments of JSON Pointers.
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
