// Writes an input as the arguments of a lowered schema, as a model would that follows it.

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Lowering } from '../../src/adapters/lowering/lower.js';
import type { Profile } from '../../src/adapters/lowering/profile.js';
import { findRenames, renameKeys } from '../../src/adapters/lowering/property-names.js';
import { type Node, sanitize } from '../../src/adapters/lowering/sanitize.js';
import type { Json } from '../../src/core/json.js';
import type { JsonSchema } from '../../src/core/schema.js';

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/** Returns arguments that mean `input`, which is valid for `json`. */
export function encodeArguments(input: Json, json: JsonSchema, lowering: Lowering, profile: Profile): Json {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  const value = isObject ? input : { input };
  const root: JsonSchema = isObject ? json : { type: 'object', properties: { input: json } };
  const renames = findRenames(sanitize(root).schema, profile.propertyName);
  const renamed = renameKeys(value, [root], { renames, root });
  return lowering.strict ? fill(renamed, lowering.schema) : renamed;
}

// Adds what strict mode requires in place of absent properties.
function fill(value: Json, node: Node): Json {
  const branches = (node.anyOf as Node[] | undefined)?.map((branch) => ({ branch, filled: fill(value, branch) }));
  if (branches !== undefined)
    return branches.find(({ branch, filled }) => ajv.validate(branch, filled))?.filled ?? value;
  if (Array.isArray(value)) return value.map((entry) => fill(entry, (node.items ?? {}) as Node));
  if (typeof value !== 'object' || value === null || node.properties === undefined) return value;
  const properties = node.properties as Record<string, Node>;
  const absent = ((node.required ?? []) as string[]).filter((name) => !Object.hasOwn(value, name));
  const given = Object.entries(value).map(([name, entry]) => [name, fill(entry as Json, properties[name] ?? {})]);
  return Object.fromEntries([...given, ...absent.map((name) => [name, absentOf(properties[name]!)])]);
}

function absentOf({ anyOf = [] }: Node): Json {
  const marker = (anyOf as Node[]).find(({ description }) => description === 'The parameter is left out.');
  return marker === undefined ? null : { [Object.keys(marker.properties as object)[0]!]: true };
}
