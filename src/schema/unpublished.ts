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

const EXPLANATIONS: Readonly<Record<string, Readonly<Record<string, Explanation>>>> = { zod: ZOD, arktype: ARKTYPE };

const MARK = 'x-unpublished';

interface ZodPlace {
  readonly zodSchema: {
    readonly _zod: {
      readonly def: { readonly type: string; readonly values?: readonly unknown[] };
      /** Set if its author says how it is published. */
      readonly toJSONSchema?: unknown;
    };
  };
  readonly jsonSchema: Record<string, unknown>;
}

/** Options by vendor: what cannot be published is marked in the document, instead of an error or a schema for anything. */
export const MARKING: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  zod: {
    unrepresentable({ zodSchema }: ZodPlace): 'any' | 'throw' {
      const { type } = zodSchema._zod.def;
      // What has the default is marked itself.
      return type === 'default' || type === 'prefault' || Object.hasOwn(ZOD, type) ? 'any' : 'throw';
    },
    override({ zodSchema, jsonSchema }: ZodPlace): void {
      const { def, toJSONSchema } = zodSchema._zod;
      const { type, values = [] } = def;
      const isPublished =
        toJSONSchema !== undefined ||
        (type === 'literal' && !values.some((value) => value === undefined || typeof value === 'bigint')) ||
        (type === 'catch' && 'default' in jsonSchema);
      if (Object.hasOwn(ZOD, type) && !isPublished) jsonSchema[MARK] = type;
    },
  },
  arktype: {
    fallback: ({ code, base, domain, proto, unit }: Readonly<Record<string, unknown>>): unknown => {
      const type = { date: 'Date', domain, proto: (proto as { name?: string })?.name, unit: typeof unit }[String(code)];
      return typeof type === 'string' && Object.hasOwn(ARKTYPE, type) ? { [MARK]: type } : base;
    },
  },
};

/** Returns the first place that was marked in a document. */
export function findMarked(document: unknown, vendor: string, side: Side): Unpublished | undefined {
  const find = (node: unknown, path: string): Unpublished | undefined => {
    if (!isRecord(node)) return undefined;
    const explanation = typeof node[MARK] === 'string' ? EXPLANATIONS[vendor]?.[node[MARK]] : undefined;
    if (explanation !== undefined) {
      const [what, write] = explanation;
      return { path: path.replace(/^\./, ''), what, write: typeof write === 'string' ? write : write[side] };
    }
    for (const [step, child] of placesIn(node)) {
      const found = find(child, path + step);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(document, '');
}

// The parts of a schema, each with what it adds to the path.
function placesIn(node: Readonly<Record<string, unknown>>): readonly (readonly [step: string, child: unknown])[] {
  const { properties, prefixItems, items, additionalProperties, propertyNames, ...others } = node;
  return [
    ...Object.entries(isRecord(properties) ? properties : {}).map(([key, child]) => [`.${key}`, child] as const),
    ...(Array.isArray(prefixItems) ? prefixItems : []).map((child, at) => [`[${at}]`, child] as const),
    ['[]', items],
    ['.*', additionalProperties],
    ['.*', propertyNames],
    ...Object.values(others)
      .flat()
      .map((child) => ['', child] as const),
  ];
}
