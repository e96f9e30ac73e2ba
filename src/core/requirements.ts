// What a tool or skill needs on this machine: programs, variables, and versions of Python and Node.

import { PROGRAM_NAME } from './command.js';
import type { JsonSchema } from './schema.js';
import { converted, custom, either, list, object, optional, type Shape, text } from './shape.js';

/** What must be there before a call. */
export interface Requirements {
  /** Each entry is met if all programs of one of its groups are installed. */
  readonly programs: readonly (readonly (readonly string[])[])[];
  /** Names of environment variables. */
  readonly env: readonly string[];
  /** Versions of Python, such as `>=3.10`; empty if any will do. */
  readonly python?: string | undefined;
  /** Versions of Node, likewise. */
  readonly node?: string | undefined;
}

const COMPARISON = '(?:(?:[<>]=?|={1,2})\\s*)?v?\\d+(?:\\.\\d+){0,2}\\+?';
const VERSIONS = new RegExp(`^\\s*${COMPARISON}(?:[\\s,]+${COMPARISON})*\\s*$`);
const MAX_VERSIONS = 60;
export const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether a text names versions: `3.10`, `>=3.10`, `>=18, <23`. */
export function isVersions(value: string): boolean {
  return value.length <= MAX_VERSIONS && VERSIONS.test(value);
}

const VERSIONS_SCHEMA: JsonSchema = {
  anyOf: [
    { type: 'string', maxLength: MAX_VERSIONS, pattern: VERSIONS.source },
    { type: 'integer', minimum: 0, maximum: 999 },
    { const: true },
  ],
};
const versions = custom(
  'a version in quotes, such as ">=3.10"',
  (value) => {
    if (value === true) return '';
    // YAML reads 3.10 as 3.1.
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 999) return String(value);
    return typeof value === 'string' && isVersions(value) ? value.trim() : undefined;
  },
  VERSIONS_SCHEMA,
);

const program = text('the name of a program', PROGRAM_NAME);
const variable = text('the name of a variable', VARIABLE);

const oneOrMore = <T>(item: Shape<T>, expected: string): Shape<readonly T[]> =>
  converted(either([item, list(item)], expected), (value) => (Array.isArray(value) ? value : [value as T]));

const KEYS = {
  bins: optional(oneOrMore(either([program, list(program)]), 'an array of names of programs')),
  anyBins: optional(oneOrMore(program, 'an array of names of programs')),
  env: optional(oneOrMore(variable, 'an array of names of variables')),
  python: optional(versions),
  node: optional(versions),
};

function toRequirements(given: {
  readonly bins?: readonly (string | readonly string[])[];
  readonly anyBins?: readonly string[];
  readonly env?: readonly string[];
  readonly python?: string;
  readonly node?: string;
}): Requirements {
  const { bins = [], anyBins = [], env = [], python, node } = given;
  const groups = bins.filter((one) => typeof one !== 'string');
  return {
    programs: [
      ...bins.flatMap((one) => (typeof one === 'string' ? [[[one]]] : [])),
      ...(groups.length === 0 ? [] : [groups]),
      ...(anyBins.length === 0 ? [] : [anyBins.map((one) => [one])]),
    ],
    env,
    python,
    node,
  };
}

/** `{ bins, anyBins, env, python, node }`; groups in `bins` are alternatives. */
export const requirements = converted(object(KEYS), toRequirements);

/** The same in a file that others read too, and may have keys of theirs. */
export const openRequirements = converted(object(KEYS, { unknown: 'drop', nullIsMissing: true }), toRequirements);

/** Joins requirements; undefined if there are none. */
export function joinRequirements(all: readonly (Requirements | undefined)[]): Requirements | undefined {
  const given = all.filter((one) => one !== undefined);
  const texts = new Map(given.flatMap(({ programs }) => programs.map((one) => [JSON.stringify(one), one])));
  const joined: Requirements = {
    programs: [...texts.values()],
    env: [...new Set(given.flatMap(({ env }) => env))],
    python: joinVersions(given.map(({ python }) => python)),
    node: joinVersions(given.map(({ node }) => node)),
  };
  const { programs, env, python, node } = joined;
  return programs.length + env.length === 0 && python === undefined && node === undefined ? undefined : joined;
}

function joinVersions(all: readonly (string | undefined)[]): string | undefined {
  const given = all.filter((one) => one !== undefined);
  return given.length === 0 ? undefined : [...new Set(given)].filter((one) => one !== '').join(' ');
}

/** Formats requirements on one line: `jq, rg or grep, $TOKEN, python >=3.10`. */
export function describeRequirements({ programs, env, python, node }: Requirements): string {
  return [
    ...programs.map(describePrograms),
    ...env.map((name) => `$${name}`),
    ...(python === undefined ? [] : [`python ${python}`.trim()]),
    ...(node === undefined ? [] : [`node ${node}`.trim()]),
  ].join(', ');
}

/** Formats alternatives: `rg or grep`. */
export function describePrograms(groups: readonly (readonly string[])[]): string {
  return groups.map((group) => group.join(' and ')).join(' or ');
}

const ONE = /(?:([<>]=?|={1,2})\s*)?v?(\d+(?:\.\d+){0,2})/g;

/** Whether a version such as `3.11.4` is one of these; as many numbers are compared as are written. */
export function includesVersion(wanted: string, version: string): boolean {
  const own = version.split('.').map(Number);
  return [...wanted.matchAll(ONE)].every(([, operator = '>=', limit = '']) => {
    const difference = limit
      .split('.')
      .map((part, at) => (own[at] ?? 0) - Number(part))
      .find((one) => one !== 0);
    const sign = Math.sign(difference ?? 0);
    if (operator.startsWith('=')) return sign === 0;
    return sign === 0 ? operator.endsWith('=') : operator.startsWith('>') === sign > 0;
  });
}
