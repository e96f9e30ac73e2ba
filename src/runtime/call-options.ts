// Checks the options of public methods: a program without types may pass anything (RUN-14).

import { CallController } from '../core/call-controller.js';
import { CALLER_KINDS, type Caller } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import {
  boolean,
  callable,
  custom,
  formatFault,
  list,
  object,
  oneOf,
  optional,
  readShape,
  type Shape,
  string,
  strings,
  table,
  text,
} from '../core/shape.js';
import { didYouMean } from '../core/text.js';
import type { DoorListOptions, DoorOptions, ListOptions, PlanOptions, SearchOptions } from '../core/toolbox.js';
import { PROTOCOL_VERSIONS } from '../core/upstream.js';

/** A value that `accepts` returns true for. */
export function whichIs<T>(expected: string, accepts: (value: unknown) => boolean): Shape<T> {
  return custom(expected, (value) => (accepts(value) ? (value as T) : undefined));
}

const listener = optional(callable);
const flag = optional(boolean);
const something = optional(table);
export const milliseconds = whichIs<number>(
  'a positive number of milliseconds',
  (value) => typeof value === 'number' && value > 0,
);
const isSignal = (value: unknown): boolean => typeof (value as AbortSignal | null)?.addEventListener === 'function';
const signal = whichIs<AbortSignal>('an AbortSignal', isSignal);
const life = whichIs<AbortSignal | 'call' | 'none'>(
  "an AbortSignal, 'call' or 'none'",
  (value) => value === 'call' || value === 'none' || isSignal(value),
);

const CALLER = object({
  kind: oneOf(...CALLER_KINDS),
  door: text("a string such as 'library'"),
  name: optional(string),
  user: optional(string),
  groups: optional(strings),
  profile: optional(string),
  issuer: optional(string),
  session: optional(string),
  person: optional(string),
  address: optional(string),
  apps: flag,
  protocol: optional(oneOf(...PROTOCOL_VERSIONS)),
} satisfies Record<keyof Caller, unknown>);

const PUBLIC = {
  caller: optional(CALLER),
  signal: optional(signal),
  timeoutMs: optional(milliseconds),
  full: flag,
  trust: flag,
  approve: listener,
  elicit: listener,
  ask: listener,
  onProgress: listener,
  onOutput: listener,
  trace: something,
  checkInput: flag,
} satisfies Record<keyof PlanOptions, unknown>;

const OPTIONS = object({
  ...PUBLIC,
  controller: something,
  onLog: listener,
  logLevel: optional(string),
  ready: listener,
  background: optional(life),
  sandbox: optional(oneOf('none')),
  onPending: listener,
  checkPlan: listener,
  fault: something,
  client: something,
  found: something,
  offer: optional(strings),
  codeLimits: something,
  key: optional(string),
  dispatched: something,
  operation: something,
  entered: optional(list(table)),
  joined: optional(list(string)),
  as: optional(string),
} satisfies Record<keyof DoorOptions, unknown>);

const PUBLIC_LIST = {
  caller: optional(CALLER),
  hidden: flag,
  offer: optional(strings),
  knownOnly: flag,
} satisfies Record<keyof ListOptions, unknown>;

const LIST_OPTIONS = object({ ...PUBLIC_LIST, decideMode: listener } satisfies Record<keyof DoorListOptions, unknown>);
const SEARCH_OPTIONS = object({ caller: optional(CALLER) } satisfies Record<keyof SearchOptions, unknown>);
export const limit = whichIs<number>('a number of 0 or more', (value) => typeof value === 'number' && value >= 0);

/** Returns what is wrong with the options of a call. */
export function findOptionFault(options: unknown): ToolError | undefined {
  // Only doors can have one. They have types, and the check would be a tenth of a call over stdio.
  if (isRecord(options) && options.controller instanceof CallController) return undefined;
  return findFault(OPTIONS, options, 'the options of a call', Object.keys(PUBLIC));
}

/** Returns options for a call that fails with the fault; of the given ones, only a valid caller is kept. */
export function withFault(options: DoorOptions | null, fault: ToolError): DoorOptions {
  const { value: caller } = readShape(CALLER, options?.caller);
  return caller === undefined ? { fault } : { fault, caller };
}

/** Throws `usage`. */
export function checkCallOptions(options: unknown): void {
  const fault = findOptionFault(options);
  if (fault !== undefined) throw fault;
}

/** Throws `usage`. */
export function checkListOptions(options: unknown): void {
  const fault = findFault(LIST_OPTIONS, options, 'the options of a list', Object.keys(PUBLIC_LIST));
  if (fault !== undefined) throw fault;
}

/** Throws `usage`. */
export function checkSearch(query: unknown, most: unknown, options: unknown): void {
  const fault =
    findFault(string, query, 'the query') ??
    findFault(limit, most, 'the limit') ??
    findFault(SEARCH_OPTIONS, options, 'the options of a search');
  if (fault !== undefined) throw fault;
}

/**
 * Returns the first fault of a value as `usage`; `whole` is its name in the message. The hint names the documented keys, not
 * those that only our own doors set.
 */
export function findFault(
  shape: Shape<unknown>,
  value: unknown,
  whole: string,
  documented?: readonly string[],
): ToolError | undefined {
  const [fault] = readShape(shape, value).faults;
  if (fault === undefined) return undefined;
  const message = fault.path.length === 0 ? `${whole} ${fault.message}` : formatFault(fault);
  const [key] = fault.path;
  const hint =
    documented === undefined || fault.path.length > 1
      ? fault.hint
      : key === undefined
        ? `write { ${documented.join(', ')} }`
        : fault.kind === 'unknown'
          ? didYouMean(String(key), documented, `known keys: ${documented.join(', ')}`, JSON.stringify)
          : fault.hint;
  return new ToolError('usage', message, { hint });
}
