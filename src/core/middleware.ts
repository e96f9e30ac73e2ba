// Middleware: what wraps the run of a decided call, what it sees of it, and the options of the three that ship.

import { ToolError } from './error.js';
import type { Json } from './json.js';
import type { Plan } from './plan.js';
import type { Output, ToolResult } from './result.js';
import { parseSelectors, type Selector } from './selector.js';
import type { Tool } from './tool.js';
import type { Caller } from './toolbox.js';

/** A decided call as middleware sees it: frozen, the same object for every entry (RUN-9). */
export interface ServedCall {
  readonly tool: Tool;
  /** Input after repair and check. */
  readonly input: Json;
  /** What was judged, and what `next` runs. */
  readonly plan: Plan;
  readonly caller: Caller;
  /** 0 for a call from outside, 1 for one that its tool makes, and so on. */
  readonly depth: number;
  /** Ends with the caller's signal, and with the call. */
  readonly signal: AbortSignal;
  /** Absolute path. */
  readonly workdir: string;
  /** The directories that tools are looked for in, in order. */
  readonly paths: readonly string[];
  /** Calls another tool instead or besides: a nested call, decided again (RUN-7). */
  readonly toolbox: { call(ref: string, input: unknown): Promise<ToolResult> };
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** Milliseconds that are left of the call's time limit; waiting for a place to run does not count. */
  timeLeftMs(): number;
}

/** What an entry is given: the served call, and where the entry stands (`wield/helpers` reads that). */
export interface MiddlewareCall extends ServedCall {
  readonly [ENVELOPE]: Envelope;
}

/** What surrounds a served call while an entry handles it (HLP-7). */
export interface Envelope {
  readonly target: ServedCall;
  readonly trigger: HookTrigger | undefined;
  /** The next entry that is no hook; the tool itself comes last. */
  readonly hookTarget: string;
}

// Registered, since the binary and the library each carry a copy of this file.
export const ENVELOPE: unique symbol = Symbol.for('wield.envelope') as never;

/** Runs the rest and gives its output. Takes nothing: what was decided is what runs. */
export type Next = () => Promise<Output>;

export type MiddlewareFunction = (call: MiddlewareCall, next: Next) => Output | Promise<Output>;

/** When a hook runs: around each entry after it and the tool, or around calls that tools make. */
export type HookTrigger = '$next' | '$invoke';

export interface Middleware {
  /** Names it in messages. */
  readonly name: string;
  /** Selectors of the tools and calls that it is for; everything by default. */
  readonly for?: string | readonly string[];
  readonly hook?: HookTrigger;
  /**
   * True where it always gives the output of exactly one `next()`, unchanged. Otherwise what the tool writes
   * cannot be shown while it is written, since it may not be the answer.
   */
  readonly streams?: boolean;
  readonly run: MiddlewareFunction;
}

export interface RetryOptions {
  readonly for?: string | readonly string[];
  /** Runs in all, the first included; 3 by default. */
  readonly attempts?: number;
  /** Before the second run; doubled for each further one, less a random part; 200 by default. */
  readonly waitMs?: number;
  /** No single wait is longer; 10,000 by default. */
  readonly maxWaitMs?: number;
  /** Repeats also tools that do not say they are read-only or idempotent. */
  readonly assumeIdempotent?: boolean;
}

export interface CacheOptions {
  readonly for?: string | readonly string[];
  /** How long an output answers further calls; 60,000 by default. */
  readonly maxAgeMs?: number;
  /** 1,000 by default; the one that was not used for longest goes first. */
  readonly maxEntries?: number;
  /** Of all entries together; 16 MiB by default. */
  readonly maxBytes?: number;
}

export interface RateLimitOptions {
  readonly for?: string | readonly string[];
  /** So many calls may start at once, and so many in each `everyMs`. */
  readonly calls: number;
  /** 60,000 by default. */
  readonly everyMs?: number;
  /** What has a budget of its own; `tool` by default. A tool without a group is a group of its own. */
  readonly per?: 'tool' | 'group' | 'caller' | 'all';
  /** How long a call waits for its turn before it is `busy`; 0 by default. */
  readonly maxWaitMs?: number;
}

/** An entry of the configuration. */
export type MiddlewareSettings =
  | { readonly use: 'retry'; readonly options: RetryOptions }
  | { readonly use: 'cache'; readonly options: CacheOptions }
  | { readonly use: 'rate-limit'; readonly options: RateLimitOptions };

/** The selectors of a `for`. Throws `invalid_definition` where it would never match, or says what only a rule can. */
export function parseFor(source: string | readonly string[]): readonly Selector[] {
  const selectors = parseSelectors(source);
  const odd = selectors.find((selector) => selector.policy !== undefined || selector.builtin);
  if (odd !== undefined || selectors.length === 0) {
    const what = odd === undefined ? 'no selector' : `"${odd.text}"`;
    throw new ToolError('invalid_definition', `"for" of middleware has ${what}`, {
      hint: 'name tools or #tags, as in "crm_* #slow"; directives and $names belong to rules',
    });
  }
  return selectors;
}
