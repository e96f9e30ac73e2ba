// Compiles a schema to a codec for a provider's strict mode, if strict mode can express it.

import { isRecord, type Json } from '../../core/json.js';
import { jsonType } from '../../core/schema.js';
import { alternativesOf, arrayCodec, type Codec, type Field, objectCodec, plainCodec, unionCodec } from './codec.js';
import type { StrictRules } from './profile.js';
import { propertyNames } from './property-names.js';
import { viewObject } from './root.js';
import { CONSTRAINTS, type Node } from './sanitize.js';
import { isWithinLimits } from './strict-limits.js';

/** Returns undefined if a valid value could not be expressed. */
export function compileStrict(root: Node, rules: StrictRules): Codec | undefined {
  const names = new Set(propertyNames(root));
  let absentKey = 'left_out';
  while (names.has(absentKey)) absentKey += '_';
  const codec = compileObject({ ...root, additionalProperties: false }, { rules, absentKey });
  return codec !== undefined && isWithinLimits(codec.schema, rules) ? codec : undefined;
}

interface CompileOptions {
  readonly rules: StrictRules;
  /** The key of the object that marks a property as absent, for properties that can be null. */
  readonly absentKey: string;
}

function compile(node: Node, options: CompileOptions): Codec | undefined {
  // Alternatives have their own constraints; enum values have none.
  if (Array.isArray(node.enum)) return describe(compileChoices(node, node.enum as Json[]), node, []);
  if (Array.isArray(node.type)) {
    const branches = node.type.map((type) => withoutAnnotations({ ...node, type }));
    return describe(compileUnion(branches, options), node, []);
  }
  if (Array.isArray(node.anyOf) && node.allOf === undefined && node.properties === undefined) {
    const { anyOf, ...own } = withoutAnnotations(node);
    const branches = (anyOf as Node[]).map((branch) => ({ ...own, ...branch }));
    return describe(compileUnion(branches, options), node, []);
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
      const items = compile(node.items as Node, options);
      return items && describe(arrayCodec({ type: 'array' }, items), node);
    }
    case 'object':
      return describe(compileObject(node, options), node);
    default:
      return undefined;
  }
}

function compileUnion(nodes: readonly Node[], options: CompileOptions): Codec | undefined {
  const branches = nodes.map((node) => compile(node, options));
  return branches.every((branch) => branch !== undefined) ? unionCodec(branches) : undefined;
}

function compileChoices(node: Node, values: readonly Json[]): Codec | undefined {
  const byType = new Map<string, Json[]>();
  for (const value of values) {
    const type = jsonType(value);
    byType.set(type, [...(byType.get(type) ?? []), value]);
  }
  if (byType.has('object') || byType.has('array') || node.allOf !== undefined) return undefined;
  return unionCodec(
    [...byType].map(([type, choices]) => plainCodec(type === 'null' ? { type } : { type, enum: choices }, type)),
  );
}

function compileObject(node: Node, options: CompileOptions): Codec | undefined {
  const view = viewObject(node, false);
  if (view.open) return undefined;
  const fields = new Map<string, Field>();
  for (const [name, schema] of view.properties) {
    const codec = compile(schema, options);
    if (codec === undefined) return undefined;
    fields.set(name, view.required.has(name) ? { codec, schema: codec.schema } : toOptional(codec, options));
  }
  // A required property that is not declared could have no value.
  if ([...view.required].some((name) => !fields.has(name))) return undefined;
  return objectCodec(fields, options.rules.optional === 'nullable' ? [...fields.keys()] : [...view.required]);
}

function toOptional(codec: Codec, { rules, absentKey }: CompileOptions): Field {
  const { schema } = codec;
  if (rules.optional === 'supported') return { codec, schema };
  if (!codec.types.has('null'))
    return { codec, schema: orElse(schema, { type: 'null' }), isAbsent: (value) => value === null };
  const marker: Node = {
    type: 'object',
    description: 'The parameter is left out.',
    properties: { [absentKey]: { type: 'boolean', enum: [true] } },
    required: [absentKey],
    additionalProperties: false,
  };
  return {
    codec,
    schema: orElse(schema, marker),
    isAbsent: (value) => isRecord(value) && value[absentKey] === true && Object.keys(value).length === 1,
  };
}

// The description stays on the outside, where models expect it.
function orElse({ description, ...schema }: Node, other: Node): Node {
  const annotation = description === undefined ? {} : { description };
  if (other.type === 'null' && typeof schema.type === 'string' && schema.enum === undefined)
    return { ...annotation, ...schema, type: [schema.type, 'null'] };
  return { ...annotation, anyOf: [...alternativesOf(schema), other] };
}

function withoutAnnotations({ description: _, title: __, default: ___, ...node }: Node): Node {
  return node;
}

// Constraints that strict mode cannot express are added to the description; validation still enforces them.
function describe(codec: Codec | undefined, node: Node, constraints = CONSTRAINTS): Codec | undefined {
  if (codec === undefined) return undefined;
  const notes = [...constraints, 'default']
    .filter((key) => node[key] !== undefined)
    .map((key) => `${key} ${JSON.stringify(node[key])}`);
  const sentences = [
    ...(node.description === undefined ? [] : [String(node.description)]),
    ...(notes.length === 0 ? [] : [`(${notes.join(', ')})`]),
  ];
  return sentences.length === 0
    ? codec
    : { ...codec, schema: { description: sentences.join(' '), ...withoutAnnotations(codec.schema) } };
}
