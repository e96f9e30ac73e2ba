// Shapes of values from outside: files, messages and entries. Reading one reports each fault with its path.

import { describeValue, isRecord, type Json, type JsonObject, mapValues } from './json.js';
import type { JsonSchema } from './schema.js';
import { BYTES, DURATION, didYouMean, parseBytes, parseDuration, quoteOutside } from './text.js';

/** Keys and indices from the whole value to a part of it. */
export type Path = readonly (string | number)[];

/** Receives the faults of a value; their paths begin at that value. */
export type Report = (fault: ShapeFault) => void;

export interface ShapeFault {
  readonly path: Path;
  readonly kind: 'missing' | 'unknown' | 'invalid';
  /** Follows the name of the part, `must be a string`; for a key: `"x" is missing`, `unknown key "x"`. */
  readonly message: string;
  readonly hint: string;
  /** What is there instead, without the contents of strings, which may be secret. */
  readonly found?: string;
}

/** Reports a fault at a path below the value that is checked. */
export type Fail = (path: Path, message: string, hint?: string) => void;

export interface Shape<T> {
  /** Completes `must be …`. */
  readonly expected: string;
  /** What to do if the value does not match; `write` and what is expected by default. */
  readonly hint?: string | undefined;
  /** Returns the same as JSON Schema, for editors; less strict where JSON Schema cannot say it. */
  readonly toSchema: () => JsonSchema;
  /** Of a key of an object that may be missing. */
  readonly optional?: boolean;
  /** Returns the value without its invalid parts, which are reported; undefined if nothing remains. */
  readonly read: (value: unknown, report: Report) => T | undefined;
}

/** The type of the values of a shape. */
export type Infer<S> = S extends Shape<infer T> ? T : never;

export interface Reading<T> {
  /** Without invalid parts; undefined if nothing remains. */
  readonly value: T | undefined;
  readonly faults: readonly ShapeFault[];
}

/** Reads a value. Callers that need all of it check that there are no faults. */
export function readShape<T>(shape: Shape<T>, value: unknown, path: Path = []): Reading<T> {
  const faults: ShapeFault[] = [];
  const read = shape.read(value, (fault) => faults.push({ ...fault, path: [...path, ...fault.path] }));
  return { value: read, faults };
}

/** Whether a value matches without any fault. Only for shapes that do not convert. */
export function matches<T>(shape: Shape<T>, value: unknown): value is T {
  return readShape(shape, value).faults.length === 0;
}

/** Formats a path: `servers.github.args[2]`. */
export function formatPath(path: Path): string {
  return path
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at === 0 ? '' : '.'}${quoteOutside(step, 60)}`))
    .join('');
}

/** Formats a fault: `servers.github.args[2] must be a string, got the number 3`. */
export function formatFault({ path, kind, message, found }: ShapeFault): string {
  if (kind === 'unknown') return `unknown key "${formatPath(path)}"`;
  const part = path.length === 0 ? 'it' : formatPath(path);
  if (kind === 'missing') return `${part} is missing`;
  return found === undefined ? `${part} ${message}` : `${part} ${message}, got ${found}`;
}

/** A value that `parse` accepts, converted; `parse` returns undefined for others. */
export function custom<T>(
  expected: string,
  parse: (value: unknown) => T | undefined,
  schema: JsonSchema = {},
): Shape<T> {
  return {
    expected,
    toSchema: () => schema,
    read(value, report) {
      const parsed = parse(value);
      if (parsed === undefined) report(mismatch(value, expected));
      return parsed;
    },
  };
}

function mismatch(value: unknown, expected: string, hint = `write ${expected}`): ShapeFault {
  const found = typeof value === 'string' ? 'a string' : describeValue(value);
  return { path: [], kind: 'invalid', message: `must be ${expected}`, hint, found };
}

// For a part of a value.
function within(step: string | number, report: Report): Report {
  return (fault) => report({ ...fault, path: [step, ...fault.path] });
}

export const string = custom('a string', (value) => (typeof value === 'string' ? value : undefined), {
  type: 'string',
});
export const number = custom('a number', (value) => (typeof value === 'number' ? value : undefined), {
  type: 'number',
});
export const boolean = custom('true or false', (value) => (typeof value === 'boolean' ? value : undefined), {
  type: 'boolean',
});
export const callable = custom('a function', (value) => (typeof value === 'function' ? value : undefined));
export const anything = custom<unknown>('a value', (value) => value);
/** Any object, as it is. */
export const table = custom('an object', (value) => (isRecord(value) ? value : undefined), { type: 'object' });

/** A string that is not blank, or one that matches a pattern without flags. */
export function text(expected = 'a non-empty string', pattern = /\S/): Shape<string> {
  const accepts = (value: unknown): value is string => typeof value === 'string' && pattern.test(value);
  return custom(expected, (value) => (accepts(value) ? value : undefined), { type: 'string', pattern: pattern.source });
}

export function integer(min = 0, expected = `an integer of ${min} or more`): Shape<number> {
  const accepts = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= min;
  return custom(expected, (value) => (accepts(value) ? value : undefined), {
    type: 'integer',
    minimum: min,
    maximum: Number.MAX_SAFE_INTEGER,
  });
}

/** One of some strings, numbers or booleans. */
export function oneOf<const T extends string | number | boolean>(...values: readonly T[]): Shape<T> {
  const words = values.map((value) => JSON.stringify(value));
  const expected = words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return custom(expected, (value) => values.find((known) => known === value), { enum: values as readonly Json[] });
}

/** Changes how a shape is described. */
export function described<S extends Shape<unknown>>(shape: S, expected: string, hint = shape.hint): S {
  const read: Shape<unknown>['read'] = (value, report) => {
    // Faults of parts describe themselves.
    return shape.read(value, (fault) => {
      const isOwn = fault.path.length === 0 && fault.kind === 'invalid';
      report(isOwn ? { ...fault, message: `must be ${expected}`, hint: hint ?? `write ${expected}` } : fault);
    });
  };
  return { ...shape, expected, hint, read };
}

/** A shape that is made when it is first used: a large one takes time, and most runs use few. */
export function later<T>(make: () => Shape<T>): Shape<T> {
  let made: Shape<T> | undefined;
  const shape = (): Shape<T> => {
    made ??= make();
    return made;
  };
  return {
    expected: 'an object',
    toSchema: () => shape().toSchema(),
    read: (value, report) => shape().read(value, report),
  };
}

/** An array; invalid items are reported and omitted. */
export function list<T>(item: Shape<T>, expected = 'an array'): Shape<readonly T[]> {
  return {
    expected,
    toSchema: () => ({ type: 'array', items: item.toSchema() }),
    read(value, report) {
      if (Array.isArray(value)) {
        const items = value.map((one, at) => item.read(one, within(at, report)));
        return items.filter((one) => one !== undefined) as T[];
      }
      report(mismatch(value, expected));
      return undefined;
    },
  };
}

/** An array of strings, with one fault for all of it. */
export const strings = custom<readonly string[]>(
  'an array of strings',
  (value) => (Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined),
  { type: 'array', items: { type: 'string' } },
);

interface RecordOptions {
  readonly expected?: string;
  /** Returns what is wrong with a key. */
  readonly findFault?: (key: string) => string | undefined;
  readonly keyHint?: string;
  /** What `findFault` accepts, as a pattern of JSON Schema. */
  readonly keyPattern?: string;
}

/** An object with any keys; invalid entries are reported and omitted. */
export function record<T>(
  item: Shape<T>,
  { expected = 'an object', findFault, keyHint = 'rename or remove it', keyPattern }: RecordOptions = {},
): Shape<Readonly<Record<string, T>>> {
  return {
    expected,
    toSchema: () => ({
      type: 'object',
      ...(keyPattern === undefined ? {} : { propertyNames: { pattern: keyPattern } }),
      additionalProperties: item.toSchema(),
    }),
    read(value, report) {
      if (!isRecord(value)) {
        report(mismatch(value, expected));
        return undefined;
      }
      const entries = Object.entries(value).flatMap(([key, one]) => {
        const fault = findFault?.(key);
        if (fault !== undefined) report({ path: [key], kind: 'invalid', message: fault, hint: keyHint });
        const read = item.read(one, within(key, report));
        return fault === undefined && read !== undefined ? [[key, read] as const] : [];
      });
      return Object.fromEntries(entries);
    },
  };
}

type Fields = Readonly<Record<string, Shape<unknown>>>;
type OptionalKey<F extends Fields> = { [K in keyof F]: F[K] extends { readonly optional: true } ? K : never }[keyof F];
type Flat<T> = { readonly [K in keyof T]: T[K] };
export type ObjectOf<F extends Fields> = Flat<
  { [K in Exclude<keyof F, OptionalKey<F>>]: Infer<F[K]> } & { [K in OptionalKey<F>]?: Infer<F[K]> }
>;

interface ObjectOptions {
  readonly expected?: string;
  /** What happens with keys that are not listed: reported, dropped or kept. Reported by default. */
  readonly unknown?: 'report' | 'drop' | 'keep';
  /** Whether null is the same as a missing key. */
  readonly nullIsMissing?: boolean;
}

/** An object; invalid optional keys are reported and omitted, without a valid required key nothing remains. */
export function object<const F extends Fields>(
  fields: F,
  { expected = 'an object', unknown = 'report', nullIsMissing = false }: ObjectOptions = {},
): Shape<ObjectOf<F>> & { readonly fields: F } {
  const isMissing = (given: unknown): boolean => given === undefined || (given === null && nullIsMissing);
  const shapes = new Map<string, Shape<unknown>>(Object.entries(fields));
  const required = Object.keys(fields).filter((key) => fields[key]!.optional !== true);
  const hint = `write { ${Object.keys(fields).join(', ')} }`;
  return {
    expected,
    hint,
    fields,
    toSchema: () => ({
      type: 'object',
      properties: mapValues(fields, ({ toSchema, optional: mayBeMissing = false }) =>
        nullIsMissing && mayBeMissing ? orNull(toSchema()) : toSchema(),
      ),
      ...(required.length === 0 ? {} : { required }),
      ...(unknown === 'report' ? { additionalProperties: false } : {}),
    }),
    read(value, report) {
      if (!isRecord(value)) {
        report(mismatch(value, expected, hint));
        return undefined;
      }
      const isOther = ([key]: [string, unknown]): boolean => !shapes.has(key);
      const read = unknown === 'keep' ? Object.fromEntries(Object.entries(value).filter(isOther)) : {};
      for (const key of Object.keys(value)) {
        const field = shapes.get(key);
        if (field === undefined && unknown === 'report') report(unknownKey(key, Object.keys(fields)));
        if (field === undefined || isMissing(value[key])) continue;
        const part = field.read(value[key], within(key, report));
        if (part !== undefined) read[key] = part;
      }
      let isComplete = true;
      for (const key of required) {
        if (Object.hasOwn(read, key)) continue;
        isComplete = false;
        if (!Object.hasOwn(value, key) || isMissing(value[key])) report(missing(key, fields[key]!));
      }
      return isComplete ? (read as ObjectOf<F>) : undefined;
    },
  };
}

function missing(key: string, { expected }: Shape<unknown>): ShapeFault {
  return { path: [key], kind: 'missing', message: `"${key}" is missing`, hint: `add it: ${expected}` };
}

function unknownKey(key: string, known: readonly string[]): ShapeFault {
  const hint = didYouMean(key, known, `known keys: ${known.join(', ')}`, JSON.stringify);
  return { path: [key], kind: 'unknown', message: `unknown key "${quoteOutside(key, 60)}"`, hint };
}

/** A key of an object that may be missing. */
export function optional<T>(shape: Shape<T>): Shape<T> & { readonly optional: true } {
  return { ...shape, optional: true };
}

function orNull(schema: JsonSchema): JsonSchema {
  return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] };
}

/** A value or null. */
export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return {
    ...shape,
    expected: `${shape.expected} or null`,
    toSchema: () => orNull(shape.toSchema()),
    read: (value, report) => (value === null ? null : shape.read(value, report)),
  };
}

/** The first of some shapes that matches; one fault if none does. */
export function either<const S extends readonly Shape<unknown>[]>(
  shapes: S,
  expected = shapes.map((shape) => shape.expected).join(' or '),
): Shape<Infer<S[number]>> {
  return {
    expected,
    toSchema: () => ({ anyOf: shapes.map(({ toSchema }) => toSchema()) }),
    read(value, report) {
      for (const shape of shapes) {
        const { value: read, faults } = readShape(shape, value);
        if (faults.length === 0) return read as Infer<S[number]>;
      }
      report(mismatch(value, expected));
      return undefined;
    },
  };
}

/** An object whose key `tag` says which shape it has. */
export function tagged<const S extends Readonly<Record<string, Shape<unknown>>>>(
  tag: string,
  shapes: S,
): Shape<Infer<S[keyof S]>> {
  const head = object({ [tag]: oneOf(...Object.keys(shapes)) }, { unknown: 'drop' });
  return {
    expected: `an object with ${tag}`,
    toSchema: () => ({
      type: 'object',
      required: [tag],
      properties: { [tag]: { enum: Object.keys(shapes) } },
      anyOf: Object.entries(shapes).map(([kind, { toSchema }]) => {
        const schema = toSchema();
        return { ...schema, properties: { ...(schema.properties as JsonObject), [tag]: { const: kind } } };
      }),
    }),
    read(value, report) {
      const kind = isRecord(value) && Object.hasOwn(value, tag) ? value[tag] : undefined;
      if (typeof kind === 'string' && Object.hasOwn(shapes, kind))
        return shapes[kind]!.read(value, report) as Infer<S[keyof S]>;
      head.read(value, report);
      return undefined;
    },
  };
}

/**
 * Checks a value further: `find` reports what is wrong with it, and nothing remains of it then. `keywords` says the same as
 * JSON Schema, as far as possible.
 */
export function checked<T>(shape: Shape<T>, find: (value: T, fail: Fail) => void, keywords: JsonSchema = {}): Shape<T> {
  return {
    ...shape,
    toSchema: () => ({ ...shape.toSchema(), ...keywords }),
    read(value, report) {
      const read = shape.read(value, report);
      if (read === undefined) return undefined;
      let isValid = true;
      find(read, (path, message, hint = shape.hint ?? `write ${shape.expected}`) => {
        isValid = false;
        report({ path, kind: 'invalid', message, hint });
      });
      return isValid ? read : undefined;
    },
  };
}

/** Converts a valid value. */
export function converted<T, U>(shape: Shape<T>, convert: (value: T) => U): Shape<U> {
  return {
    ...shape,
    read(value, report) {
      const read = shape.read(value, report);
      return read === undefined ? undefined : convert(read);
    },
  };
}

/** Returns a pattern of JSON Schema, which has no flags, for an expression with the flag `i` and no ranges of letters. */
export function toCaselessPattern({ source }: RegExp): string {
  return source.replace(/(?<!\\)[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);
}

function toTrimmedPattern(pattern: RegExp): string {
  return `^\\s*${toCaselessPattern(pattern).slice(1, -1)}\\s*$`;
}

/** The JSON Schema of values that match one schema if they match another. */
export function when(condition: JsonSchema, schema: JsonSchema, otherwise: JsonSchema = {}): JsonSchema {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  return { if: condition, then: schema, else: otherwise };
}

/** The JSON Schema of an object that has a key, and not as null. */
export function withKey(key: string): JsonSchema {
  return { required: [key], properties: { [key]: { not: { type: 'null' } } } };
}

/** Milliseconds, written as text with a unit or as a number of seconds. */
export const duration: Shape<number> = {
  ...custom('a duration such as "30s"', (value) =>
    typeof value === 'string' || typeof value === 'number' ? parseDuration(String(value)) : undefined,
  ),
  toSchema: (): JsonSchema => ({
    anyOf: [
      { type: 'string', pattern: toTrimmedPattern(DURATION) },
      { type: 'number', minimum: 0.001, exclusiveMaximum: 2 ** 31 / 1000 },
    ],
  }),
};

/** Bytes, written as text with a unit or as a number. */
export const size: Shape<number> = {
  ...custom('a size such as "16M"', (value) =>
    typeof value === 'string' || Number.isSafeInteger(value) ? parseBytes(String(value)) : undefined,
  ),
  toSchema: (): JsonSchema => ({
    anyOf: [
      { type: 'string', pattern: toTrimmedPattern(BYTES) },
      { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    ],
  }),
};

/** One string or an array of strings, as an array. */
export const stringOrStrings = custom<readonly string[]>(
  'a string or an array of strings',
  (value) => (typeof value === 'string' ? [value] : matches(strings, value) ? value : undefined),
  { anyOf: [string.toSchema(), strings.toSchema()] },
);
