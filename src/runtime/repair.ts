// Repairs what models often get slightly wrong, and says so; nothing is guessed (RUN-4).

import { escapePointer, isRecord, type Json, parseJson } from '../core/json.js';
import type { Repair } from '../core/result.js';
import { acceptedTypes, followRef, type JsonSchema, type SchemaNode } from '../core/schema.js';

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
    const here = followRef(node, schema);
    if (depth > MAX_DEPTH) return value;
    if (typeof value === 'string') {
      const parsed = parseWanted(value, acceptedTypes(here, schema));
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
    here: SchemaNode,
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

function allowsNull(node: unknown, root: JsonSchema): boolean {
  const types = acceptedTypes(followRef(node, root), root);
  return types.size === 0 || types.has('null');
}

function parseWanted(text: string, wanted: ReadonlySet<string>): Json | undefined {
  if (wanted.has('string')) return undefined;
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
