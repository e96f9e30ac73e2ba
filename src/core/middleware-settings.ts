// Middleware in the configuration: the options of the built-in ones, and the parser of an entry.

import { isToolError, ToolError } from './error.js';
import { isRecord } from './json.js';
import { isForRules, parseSelectors, type Selector } from './selector.js';
import { nearest, parseBytes, parseDuration, quoteOutside } from './text.js';

interface Option {
  /** The option's name in code. */
  readonly to: string;
  readonly expected: string;
  readonly parse: (value: unknown) => unknown;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

const A_COUNT = { expected: 'a whole number above 0', parse: (value: unknown) => (isCount(value) ? value : undefined) };

const A_SIZE = {
  expected: 'a size such as "16M"',
  parse: (value: unknown) => (typeof value === 'string' ? parseBytes(value) : isCount(value) ? value : undefined),
};

const A_DURATION = {
  expected: 'a duration such as "30s"',
  parse: (value: unknown) =>
    typeof value === 'string' || typeof value === 'number' ? parseDuration(String(value)) : undefined,
};

const SELECTORS = {
  expected: 'selectors such as "crm_* #slow"',
  parse: (value: unknown) =>
    typeof value === 'string' || (Array.isArray(value) && value.every((one) => typeof one === 'string'))
      ? (value as string | readonly string[])
      : undefined,
};

const WHOSE: readonly unknown[] = ['tool', 'group', 'caller', 'all'];

const OPTIONS: Readonly<Record<string, Readonly<Record<string, Option>>>> = {
  retry: {
    for: { to: 'for', ...SELECTORS },
    attempts: { to: 'attempts', ...A_COUNT },
    wait: { to: 'waitMs', ...A_DURATION },
    'max-wait': { to: 'maxWaitMs', ...A_DURATION },
    'assume-idempotent': {
      to: 'assumeIdempotent',
      expected: 'true or false',
      parse: (value) => (typeof value === 'boolean' ? value : undefined),
    },
  },
  cache: {
    for: { to: 'for', ...SELECTORS },
    'max-age': { to: 'maxAgeMs', ...A_DURATION },
    'max-entries': { to: 'maxEntries', ...A_COUNT },
    'max-bytes': { to: 'maxBytes', ...A_SIZE },
  },
  'rate-limit': {
    for: { to: 'for', ...SELECTORS },
    calls: { to: 'calls', ...A_COUNT },
    every: { to: 'everyMs', ...A_DURATION },
    per: {
      to: 'per',
      expected: '"tool", "group", "caller" or "all"',
      parse: (value) => (WHOSE.includes(value) ? value : undefined),
    },
    'max-wait': { to: 'maxWaitMs', ...A_DURATION },
  },
};

/** Parses an entry; undefined if it is invalid. */
export function parseMiddleware(entry: unknown): MiddlewareSettings | undefined {
  if (findMiddlewareFault(entry) !== undefined) return undefined;
  const { use, ...given } = entry as { readonly use: string } & Record<string, unknown>;
  const options = Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const { to, parse } = OPTIONS[use]![name]!;
      return [to, parse(value)];
    }),
  );
  return { use, options } as unknown as MiddlewareSettings;
}

/** Whether a project or a skill may add an entry: repeating or caching runs would widen what the user allowed. */
export function isNarrowing({ use }: MiddlewareSettings): boolean {
  return use === 'rate-limit';
}

/** Describes what is wrong with an entry, to follow its name; undefined if it is valid. */
export function findMiddlewareFault(entry: unknown): string | undefined {
  if (!isRecord(entry)) return 'must be a table: [[middleware]]';
  const { use, ...given } = entry;
  if (typeof use !== 'string' || !Object.hasOwn(OPTIONS, use)) return `must say use = "retry", "cache" or "rate-limit"`;
  const options = OPTIONS[use]!;
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(options, name)) {
      const close = nearest(name, Object.keys(options))[0];
      const advice = close === undefined ? '' : `; did you mean ${close}?`;
      return `has an unknown key "${quoteOutside(name)}" for ${use}${advice}`;
    }
    const { expected, parse } = options[name]!;
    if (parse(value) === undefined) return `has ${name}, which must be ${expected}`;
  }
  if (use === 'rate-limit' && given.calls === undefined) return 'must say how many calls it allows: calls = 10';
  return given.for === undefined ? undefined : findSelectorFault(given.for as string | readonly string[]);
}

function findSelectorFault(source: string | readonly string[]): string | undefined {
  try {
    parseFor(source);
    return undefined;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return `has for, which cannot be used: ${error.message}`;
  }
}

export interface RetryOptions {
  readonly for?: string | readonly string[];
  /** Maximum number of runs; 3 by default. */
  readonly attempts?: number;
  /** Delay before the second run, doubled for each further one, with jitter; 200 by default. */
  readonly waitMs?: number;
  /** Maximum delay; 10,000 by default. */
  readonly maxWaitMs?: number;
  /** Also repeats tools that are not marked read-only or idempotent. */
  readonly assumeIdempotent?: boolean;
}

export interface CacheOptions {
  readonly for?: string | readonly string[];
  /** How long an output is reused; 60,000 by default. */
  readonly maxAgeMs?: number;
  /** 1,000 by default; the least recently used entry is removed first. */
  readonly maxEntries?: number;
  /** Total size; 16 MiB by default. */
  readonly maxBytes?: number;
}

export interface RateLimitOptions {
  readonly for?: string | readonly string[];
  /** Number of calls that may start in each `everyMs`. */
  readonly calls: number;
  /** 60,000 by default. */
  readonly everyMs?: number;
  /** What has its own budget; `tool` by default. A tool without a group is its own group. */
  readonly per?: 'tool' | 'group' | 'caller' | 'all';
  /** How long a call may wait before it fails with `busy`; 0 by default. */
  readonly maxWaitMs?: number;
}

/** An entry of the configuration. */
export type MiddlewareSettings =
  | { readonly use: 'retry'; readonly options: RetryOptions }
  | { readonly use: 'cache'; readonly options: CacheOptions }
  | { readonly use: 'rate-limit'; readonly options: RateLimitOptions };

/** Parses the selectors of `for`. Throws `invalid_definition` if one never matches or is only valid in rules. */
export function parseFor(source: string | readonly string[]): readonly Selector[] {
  const selectors = parseSelectors(source);
  const odd = selectors.find((selector) => isForRules(selector) || selector.builtin);
  if (odd !== undefined || selectors.length === 0) {
    const what = odd === undefined ? 'no selector' : `"${odd.text}"`;
    throw new ToolError('invalid_definition', `"for" of middleware has ${what}`, {
      hint: 'name tools or #tags, as in "crm_* #slow"; directives and $names belong to rules',
    });
  }
  return selectors;
}
