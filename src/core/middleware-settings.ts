// Middleware in the configuration: the options of the built-in ones, and the shape of an entry.

import { isToolError, ToolError } from './error.js';
import { isForRules, parseSelectors, type Selector } from './selector.js';
import {
  boolean,
  checked,
  converted,
  described,
  duration,
  integer,
  object,
  oneOf,
  optional,
  type Shape,
  size,
  stringOrStrings,
  tagged,
} from './shape.js';

const count = integer(1, 'a whole number above 0');
const selectors = checked(described(stringOrStrings, 'selectors such as "crm_* #slow"'), (source, fail) => {
  try {
    parseFor(source);
  } catch (error) {
    if (!isToolError(error)) throw error;
    fail([], `cannot be used: ${error.message}`, error.hint);
  }
});

const OPTIONS = tagged('use', {
  retry: object({
    use: oneOf('retry'),
    for: optional(selectors),
    attempts: optional(count),
    wait: optional(duration),
    'max-wait': optional(duration),
    'assume-idempotent': optional(boolean),
  }),
  cache: object({
    use: oneOf('cache'),
    for: optional(selectors),
    'max-age': optional(duration),
    'max-entries': optional(count),
    'max-bytes': optional(size),
  }),
  'rate-limit': object({
    use: oneOf('rate-limit'),
    for: optional(selectors),
    calls: count,
    every: optional(duration),
    per: optional(oneOf('tool', 'group', 'caller', 'all')),
    'max-wait': optional(duration),
  }),
});

// Names of options in code.
const NAMES: Readonly<Record<string, string>> = {
  wait: 'waitMs',
  'max-wait': 'maxWaitMs',
  'assume-idempotent': 'assumeIdempotent',
  'max-age': 'maxAgeMs',
  'max-entries': 'maxEntries',
  'max-bytes': 'maxBytes',
  every: 'everyMs',
};

/** An entry of `[[middleware]]`, and of `metadata.middleware` in a skill. */
export const middlewareEntry: Shape<MiddlewareSettings> = converted(OPTIONS, ({ use, ...given }) => {
  const options = Object.fromEntries(Object.entries(given).map(([name, value]) => [NAMES[name] ?? name, value]));
  return { use, options } as unknown as MiddlewareSettings;
});

/** Whether a project or a skill may add an entry: repeating or caching runs would widen what the user allowed. */
export function isNarrowing({ use }: MiddlewareSettings): boolean {
  return use === 'rate-limit';
}

/** Options of `retry`. */
export interface RetryOptions {
  /** Selectors of the calls it applies to; all by default. */
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

/** Options of `cache`. */
export interface CacheOptions {
  /** Selectors of the calls it applies to; all by default. */
  readonly for?: string | readonly string[];
  /** How long an output is reused; 60,000 by default. */
  readonly maxAgeMs?: number;
  /** 1,000 by default; the least recently used entry is removed first. */
  readonly maxEntries?: number;
  /** Total size; 16 MiB by default. */
  readonly maxBytes?: number;
}

/** Options of `rateLimit`. */
export interface RateLimitOptions {
  /** Selectors of the calls it applies to; all by default. */
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
