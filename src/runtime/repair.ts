// Repairs what models often get slightly wrong, and says so; nothing is guessed (RUN-4).

import { escapePointer, isRecord, type Json, parseJson } from '../core/json.js';
import type { Repair } from '../core/result.js';
import type { JsonSchema } from '../core/schema.js';

export interface Repaired {
  readonly input: Json;
  readonly repairs: readonly Repair[];
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MAX_DEPTH = 64;

/** The input with null for optional properties left out and JSON text parsed where the schema wants no text. */
export function repairInput(input: Json, schema: JsonSchema): Repaired {
  const repairs: Repair[] = [];
  const walk = (value: Json, node: unknown, path: string, depth: number): Json => {
    const here = follow(node, schema);
    if (depth > MAX_DEPTH || here === undefined) return value;
    if (typeof value === 'string') {
      const parsed = parseWanted(value, wantedTypes(here, schema));
      if (parsed === undefined) return value;
      repairs.push({ path, repair: 'text parsed as JSON' });
      return parsed;
    }
    if (Array.isArray(value)) return mapItems(value, here.items, path, depth);
    if (isRecord(value)) return mapProperties(value as { [key: string]: Json }, here, path, depth);
    return value;
  };
  const mapItems = (
    values: readonly Json[],
    items: unknown,
    path: string,
    depth: number,
  ): readonly Json[] => {
    if (!isRecord(items)) return values;
    const mapped = values.map((value, index) => walk(value, items, `${path}/${index}`, depth + 1));
    return mapped.some((value, index) => value !== values[index]) ? mapped : values;
  };
  const mapProperties = (
    value: { [key: string]: Json },
    here: Record<string, unknown>,
    path: string,
    depth: number,
  ): Json => {
    const properties = here.properties;
    if (!isRecord(properties)) return value;
    const required = Array.isArray(here.required) ? here.required : [];
    let copy: Record<string, Json> | undefined;
    for (const [key, child] of Object.entries(value)) {
      if (!Object.hasOwn(properties, key)) continue;
      const childPath = `${path}/${escapePointer(key)}`;
      if (child === null && !required.includes(key) && !allowsNull(properties[key], schema)) {
        copy ??= { ...value };
        delete copy[key];
        repairs.push({ path: childPath, repair: 'null taken as absent' });
        continue;
      }
      const repaired = walk(child, properties[key], childPath, depth + 1);
      if (repaired !== child) {
        copy ??= { ...value };
        copy[key] = repaired;
      }
    }
    return copy ?? value;
  };
  return { input: walk(input, schema, '', 0), repairs };
}

// A schema node with a local $ref followed; a few steps, so that a circle ends.
function follow(node: unknown, root: JsonSchema): Record<string, unknown> | undefined {
  let here = node;
  for (let step = 0; step < 8 && isRecord(here); step++) {
    const ref = here.$ref;
    if (typeof ref !== 'string') return here;
    let target: unknown = root;
    for (const part of ref.replace(/^#\/?/, '').split('/').filter(Boolean)) {
      const key = part.replace(/~1/g, '/').replace(/~0/g, '~');
      target = isRecord(target) && Object.hasOwn(target, key) ? target[key] : undefined;
    }
    here = target;
  }
  return isRecord(here) ? here : undefined;
}

// The types a node asks for; undefined where it does not say, and then nothing is repaired.
function wantedTypes(node: Record<string, unknown>, root: JsonSchema): Set<string> | undefined {
  const { type } = node;
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((entry) => typeof entry === 'string'));
  const branches = node.anyOf ?? node.oneOf;
  if (!Array.isArray(branches)) return undefined;
  const types = new Set<string>();
  for (const branch of branches) {
    const inner = follow(branch, root);
    const wanted = inner && wantedTypes(inner, root);
    if (wanted === undefined) return undefined;
    for (const name of wanted) types.add(name);
  }
  return types;
}

function allowsNull(node: unknown, root: JsonSchema): boolean {
  const here = follow(node, root);
  if (here === undefined) return true;
  const types = wantedTypes(here, root);
  if (types !== undefined) return types.has('null');
  const choices = Array.isArray(here.enum) ? here.enum : 'const' in here ? [here.const] : [null];
  return choices.includes(null);
}

function parseWanted(text: string, wanted: Set<string> | undefined): Json | undefined {
  if (wanted === undefined || wanted.has('string')) return undefined;
  if ((text === 'true' || text === 'false') && wanted.has('boolean')) return text === 'true';
  if (NUMBER.test(text) && (wanted.has('number') || wanted.has('integer'))) {
    const number = Number(text);
    // A number that would not survive is left as text for the check to refuse.
    const exact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
    return exact ? number : undefined;
  }
  const opener = text[0];
  if ((opener === '[' && wanted.has('array')) || (opener === '{' && wanted.has('object'))) {
    try {
      return parseJson(text, 'text');
    } catch {
      return undefined;
    }
  }
  return undefined;
}
