// Explains which part of a library's schema has no JSON Schema, and what to write instead.

import { isRecord } from '../core/json.js';

/** A part of a schema that JSON cannot express. */
export interface Unpublished {
  /** Where it is, `order.lines[].due`; empty for the whole schema. */
  readonly path: string;
  /** What it is: `a Date`. */
  readonly what: string;
  /** What to write instead. */
  readonly write: string;
}

export type Side = 'input' | 'output';

type Explanation = readonly [what: string, write: string | Readonly<Record<Side, string>>];

const DATE: Readonly<Record<Side, string>> = {
  input: 'z.iso.datetime(); with .transform((text) => new Date(text)), execute gets a Date',
  output: 'z.iso.datetime(), and return date.toISOString()',
};
const ABSENT: Explanation = ['undefined', '.optional() for a key that may be missing, or z.null()'];

// By the `type` of Zod's definitions; those that are not here can be published.
const ZOD: Readonly<Record<string, Explanation>> = {
  date: ['a Date', DATE],
  bigint: ['a bigint', 'z.int(), or z.string().regex(/^-?\\d+$/) for numbers beyond 2^53'],
  symbol: ['a symbol', "z.enum(['…']) or z.string()"],
  undefined: ABSENT,
  void: ABSENT,
  nan: ['NaN', 'z.number() or z.null()'],
  map: ['a Map', 'z.record(z.string(), …)'],
  set: ['a Set', 'z.array(…)'],
  function: ['a function', 'z.string() or z.enum([…]) with a name for it'],
  custom: ['a custom check', 'the schema of the data, such as z.object({ … }), with the check in .refine(…)'],
  literal: [
    'a literal that JSON does not have',
    'a string, a number, true, false or null; .optional() instead of undefined',
  ],
  catch: ['a .catch() with a function', '.default(…), or .catch(…) with a fixed value'],
  transform: [
    'a transform',
    {
      input: 'the schema of what is sent before it: z.string().transform(…)',
      output: 'the schema of what it returns after it: .transform(…).pipe(z.number())',
    },
  ],
};

// By the type that ArkType names.
const ARKTYPE: Readonly<Record<string, Explanation>> = {
  Date: ['a Date', { input: "'string.date.iso.parse', with which execute gets a Date", output: "'string.date.iso'" }],
  bigint: ['a bigint', "'number.integer', or 'string.integer' for numbers beyond 2^53"],
  symbol: ['a symbol', "a string or a union of strings, \"'a' | 'b'\""],
  undefined: ['undefined', "an optional key, 'name?', or 'null'"],
  Map: ['a Map', "an object with any keys, { '[string]': … }"],
  Set: ['a Set', "an array, 'string[]'"],
  Function: ['a function', "a name for it, \"'a' | 'b'\""],
};

/** Returns the first part of a Zod schema without JSON Schema, the innermost one; undefined if none is known. */
export function findInZod(schema: unknown, side: Side): Unpublished | undefined {
  const seen = new Set<unknown>();
  const search = (node: unknown, path: string): Unpublished | undefined => {
    if (seen.has(node) || isPublished(node, side)) return undefined;
    seen.add(node);
    const def = definitionOf(node);
    if (def === undefined) return undefined;
    for (const [step, child] of partsOf(def, side)) {
      const found = search(child, path + step);
      if (found !== undefined) return found;
    }
    return explain(ZOD[String(def.type)], path, side);
  };
  return search(schema, '');
}

type ZodDefinition = Readonly<Record<string, unknown>>;

function definitionOf(schema: unknown): ZodDefinition | undefined {
  const inner = isRecord(schema) ? schema._zod : undefined;
  return isRecord(inner) && isRecord(inner.def) ? inner.def : undefined;
}

function isPublished(schema: unknown, side: Side): boolean {
  const standard = isRecord(schema) ? schema['~standard'] : undefined;
  const publish = isRecord(standard) && isRecord(standard.jsonSchema) ? standard.jsonSchema[side] : undefined;
  if (typeof publish !== 'function') return false;
  try {
    publish({ target: 'draft-2020-12' });
    return true;
  } catch {
    return false;
  }
}

// The schemas in a definition, each with what it adds to the path.
function partsOf(def: ZodDefinition, side: Side): readonly (readonly [step: string, child: unknown])[] {
  const { shape, items, options, getter } = def;
  return [
    ...Object.entries(isRecord(shape) ? shape : {}).map(([key, child]) => [`.${key}`, child] as const),
    ...(Array.isArray(items) ? items : []).map((child, at) => [`[${at}]`, child] as const),
    ...(Array.isArray(options) ? options : []).map((child) => ['', child] as const),
    ['[]', def.element],
    ['[]', def.rest],
    ['.*', def.valueType],
    ['.*', def.catchall],
    ['', def.innerType],
    ['', def.left],
    ['', def.right],
    ['', side === 'input' ? def.in : def.out],
    ['', typeof getter === 'function' ? getter() : undefined],
  ];
}

function explain(entry: Explanation | undefined, path: string, side: Side): Unpublished | undefined {
  if (entry === undefined) return undefined;
  const [what, write] = entry;
  return { path: path.replace(/^\./, ''), what, write: typeof write === 'string' ? write : write[side] };
}

const MARK = 'x-unpublished';

/** An option of ArkType, which otherwise accepts anything in the place of what it cannot publish: marks that place. */
export const MARKING = {
  fallback: ({ code, base, domain, proto, unit }: Readonly<Record<string, unknown>>): unknown => {
    const type = { date: 'Date', domain, proto: (proto as { name?: string })?.name, unit: typeof unit }[String(code)];
    return typeof type === 'string' && Object.hasOwn(ARKTYPE, type) ? { [MARK]: type } : base;
  },
};

/** Returns the first place that was marked in a document. */
export function findMarked(node: unknown, side: Side, path = ''): Unpublished | undefined {
  if (!isRecord(node)) return undefined;
  if (typeof node[MARK] === 'string') return explain(ARKTYPE[node[MARK]], path, side);
  for (const [step, child] of placesIn(node)) {
    const found = findMarked(child, side, path + step);
    if (found !== undefined) return found;
  }
  return undefined;
}

function placesIn(node: Readonly<Record<string, unknown>>): readonly (readonly [step: string, child: unknown])[] {
  const { properties, $defs, prefixItems, anyOf, oneOf, allOf } = node;
  const among = (list: unknown): readonly unknown[] => (Array.isArray(list) ? list : []);
  return [
    ...Object.entries(isRecord(properties) ? properties : {}).map(([key, child]) => [`.${key}`, child] as const),
    ...among(prefixItems).map((child, at) => [`[${at}]`, child] as const),
    ...[anyOf, oneOf, allOf].flatMap(among).map((child) => ['', child] as const),
    ...Object.values(isRecord($defs) ? $defs : {}).map((child) => ['', child] as const),
    ['[]', node.items],
    ['.*', node.additionalProperties],
  ];
}
