// Strict mode: a schema in the provider's narrow words with a codec, or nothing where they do not suffice.

import { isRecord, type Json } from '../../core/json.js';
import {
  alternativesOf,
  arrayCodec,
  type Codec,
  mapCodec,
  plainCodec,
  typeOfJson,
  unionCodec,
} from './codec.js';
import type { StrictRules } from './profile.js';
import { eachNode, propertyNames } from './property-names.js';
import { viewObject } from './root.js';
import { CONSTRAINTS, type Node } from './sanitize.js';

/** The codec of a root under strict mode; undefined where a valid value would have no way to be written. */
export function compileStrict(root: Node, rules: StrictRules): Codec | undefined {
  const names = new Set(propertyNames(root));
  let mark = 'left_out';
  while (names.has(mark)) mark += '_';
  const codec = compileObject({ ...root, additionalProperties: false }, { rules, mark });
  return codec !== undefined && isWithin(codec.schema, rules) ? codec : undefined;
}

interface Context {
  readonly rules: StrictRules;
  /** The key of the object that stands for a property left out, where null is a value of its own. */
  readonly mark: string;
}

function compile(node: Node, context: Context): Codec | undefined {
  // Alternatives say the constraints themselves; the choices of an enum have none.
  if (Array.isArray(node.enum)) return describe(compileChoices(node, node.enum as Json[]), node, []);
  if (Array.isArray(node.type)) {
    const branches = node.type.map((type) => withoutWords({ ...node, type }));
    return describe(compileUnion(branches, context), node, []);
  }
  if (Array.isArray(node.anyOf) && node.allOf === undefined && node.properties === undefined) {
    const { anyOf, ...own } = withoutWords(node);
    const branches = (anyOf as Node[]).map((branch) => ({ ...own, ...branch }));
    return describe(compileUnion(branches, context), node, []);
  }
  switch (node.type) {
    case 'string':
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
      if (node.anyOf !== undefined || node.allOf !== undefined) return undefined;
      return describe(plainCodec({ type: node.type }, node.type), node);
    case 'array': {
      if (node.prefixItems !== undefined || node.allOf !== undefined) return undefined;
      const items = compile(node.items as Node, context);
      return items && describe(arrayCodec({ type: 'array' }, items), node);
    }
    case 'object':
      return describe(compileMap(node, context) ?? compileObject(node, context), node);
    default:
      return undefined;
  }
}

function compileUnion(nodes: readonly Node[], context: Context): Codec | undefined {
  const branches = nodes.map((node) => compile(node, context));
  return branches.every((branch) => branch !== undefined) ? unionCodec(branches) : undefined;
}

function compileChoices(node: Node, values: readonly Json[]): Codec | undefined {
  const byType = new Map<string, Json[]>();
  for (const value of values) {
    const type = typeOfJson(value);
    byType.set(type, [...(byType.get(type) ?? []), value]);
  }
  if (byType.has('object') || byType.has('array') || node.allOf !== undefined) return undefined;
  return unionCodec(
    [...byType].map(([type, choices]) =>
      plainCodec(type === 'null' ? { type } : { type, enum: choices }, type),
    ),
  );
}

function compileMap(node: Node, context: Context): Codec | undefined {
  const { properties, additionalProperties: values, anyOf, allOf } = node;
  const bare = !isRecord(properties) || Object.keys(properties).length === 0;
  if (!bare || !isRecord(values) || anyOf !== undefined || allOf !== undefined) return undefined;
  if (node.required !== undefined || node.patternProperties !== undefined) return undefined;
  const codec = compile(values, context);
  return codec === undefined ? undefined : mapCodec({}, codec);
}

function compileObject(node: Node, context: Context): Codec | undefined {
  const view = viewObject(node, false);
  if (view.open) return undefined;
  const fields = new Map<string, Field>();
  for (const [name, schema] of view.properties) {
    const codec = compile(schema, context);
    if (codec === undefined) return undefined;
    fields.set(name, view.required.has(name) ? { codec, schema: codec.schema } : toOptional(codec, context));
  }
  // A name that must be there and is declared nowhere can have no value here.
  if ([...view.required].some((name) => !fields.has(name))) return undefined;
  return objectCodec(fields, context.rules.optional === 'nullable' ? [...fields.keys()] : [...view.required]);
}

interface Field {
  readonly codec: Codec;
  readonly schema: Node;
  /** What a property that is left out is written as. */
  readonly absent?: Json;
  readonly isAbsent?: (value: Json) => boolean;
}

function toOptional(codec: Codec, { rules, mark }: Context): Field {
  const { schema } = codec;
  if (rules.optional === 'kept') return { codec, schema };
  if (!codec.to.has('null')) {
    return {
      codec,
      schema: orElse(schema, { type: 'null' }),
      absent: null,
      isAbsent: (value) => value === null,
    };
  }
  const marker: Node = {
    type: 'object',
    description: 'The parameter is left out.',
    properties: { [mark]: { type: 'boolean', enum: [true] } },
    required: [mark],
    additionalProperties: false,
  };
  return {
    codec,
    schema: orElse(schema, marker),
    absent: { [mark]: true },
    isAbsent: (value) => isRecord(value) && value[mark] === true && Object.keys(value).length === 1,
  };
}

// The words about a parameter stay on the outside, where models look for them.
function orElse({ description, ...schema }: Node, other: Node): Node {
  const words = description === undefined ? {} : { description };
  if (other.type === 'null' && typeof schema.type === 'string' && schema.enum === undefined)
    return { ...words, ...schema, type: [schema.type, 'null'] };
  return { ...words, anyOf: [...alternativesOf(schema), other] };
}

function objectCodec(fields: ReadonlyMap<string, Field>, required: readonly string[]): Codec {
  const types = new Set(['object']);
  const tags = new Map<string, ReadonlySet<string>>();
  for (const [name, { codec, isAbsent }] of fields) {
    if (isAbsent === undefined && required.includes(name) && Array.isArray(codec.schema.enum))
      tags.set(name, new Set(codec.schema.enum.map((value) => JSON.stringify(value))));
  }
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries([...fields].map(([name, { schema }]) => [name, schema])),
      required: [...required],
      additionalProperties: false,
    },
    from: types,
    to: types,
    plain: [...fields.values()].every(({ codec, isAbsent }) => codec.plain && isAbsent === undefined),
    tags,
    encode: (value) => (isRecord(value) ? encodeFields(value as { [key: string]: Json }, fields) : value),
    restore: (value) => (isRecord(value) ? restoreFields(value as { [key: string]: Json }, fields) : value),
  };
}

function encodeFields(value: { [key: string]: Json }, fields: ReadonlyMap<string, Field>): Json {
  const out: Record<string, Json> = {};
  for (const [name, { codec, absent }] of fields) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given !== undefined) out[name] = codec.encode(given);
    else if (absent !== undefined) out[name] = absent;
  }
  return out;
}

function restoreFields(value: { [key: string]: Json }, fields: ReadonlyMap<string, Field>): Json {
  const out: Record<string, Json> = {};
  for (const [name, given] of Object.entries(value)) {
    const field = fields.get(name);
    // What is not declared is the validator's to refuse.
    if (field === undefined) out[name] = given;
    else if (!field.isAbsent?.(given)) out[name] = field.codec.restore(given);
  }
  return out;
}

function withoutWords({ description: _, title: __, default: ___, ...node }: Node): Node {
  return node;
}

// What strict mode has no word for is said to the model in the description; the validator holds to it all the same.
function describe(codec: Codec | undefined, node: Node, said = CONSTRAINTS): Codec | undefined {
  if (codec === undefined) return undefined;
  const notes = [...said, 'default']
    .filter((key) => node[key] !== undefined)
    .map((key) => `${key} ${JSON.stringify(node[key])}`);
  const words = [
    ...(node.description === undefined ? [] : [String(node.description)]),
    ...(notes.length === 0 ? [] : [`(${notes.join(', ')})`]),
  ];
  return words.length === 0
    ? codec
    : { ...codec, schema: { description: words.join(' '), ...withoutWords(codec.schema) } };
}

function isWithin(schema: Node, rules: StrictRules): boolean {
  let properties = 0;
  let choices = 0;
  let characters = 0;
  let deepest = 0;
  let distinct = true;
  eachNode(schema, (node, depth) => {
    if (Array.isArray(node.anyOf)) distinct &&= haveDistinctFirstKeys(node.anyOf as Node[]);
    deepest = Math.max(deepest, depth);
    if (isRecord(node.properties)) {
      for (const name of Object.keys(node.properties)) {
        properties++;
        characters += name.length;
      }
    }
    if (Array.isArray(node.enum)) {
      choices += node.enum.length;
      characters += node.enum.reduce((sum: number, value) => sum + String(value).length, 0);
    }
  });
  return (
    (distinct || !rules.distinctFirstKeys) &&
    deepest <= rules.maxDepth &&
    properties <= rules.maxProperties &&
    choices <= rules.maxEnumValues &&
    characters <= rules.maxNameCharacters
  );
}

function haveDistinctFirstKeys(alternatives: readonly Node[]): boolean {
  const first = alternatives.flatMap(({ properties }) =>
    isRecord(properties) ? Object.keys(properties).slice(0, 1) : [],
  );
  return new Set(first).size === first.length;
}
