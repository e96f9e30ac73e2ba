// Fills in the defaults that a JSON Schema declares.

import { copyJson, isRecord, type Json } from '../core/json.js';
import { followRef, type JsonSchema } from '../core/schema.js';

const MAX_DEPTH = 64;

/** Returns a copy of the value with the `default` of each missing property, at every depth. */
export function fillDefaults(value: Json, schema: JsonSchema): Json {
  const walk = (here: Json, node: unknown, depth: number): Json => {
    if (depth > MAX_DEPTH || typeof here !== 'object' || here === null) return here;
    const { properties, items } = followRef(node, schema);
    if (Array.isArray(here)) return isRecord(items) ? here.map((child) => walk(child, items, depth + 1)) : here;
    if (!isRecord(properties)) return here;
    const filled: Record<string, Json> = { ...(here as { [key: string]: Json }) };
    for (const [name, property] of Object.entries(properties)) {
      const { default: standard } = followRef(property, schema);
      if (Object.hasOwn(filled, name)) filled[name] = walk(filled[name]!, property, depth + 1);
      else if (standard !== undefined) filled[name] = copyJson(standard as Json);
    }
    return filled;
  };
  return walk(value, schema, 0);
}
