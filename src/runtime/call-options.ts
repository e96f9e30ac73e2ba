// Checks the options of public methods: a program without types may pass anything (RUN-14).

import { CallController } from '../core/call-controller.js';
import { CALLER_KINDS, type Caller } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import {
  boolean,
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
import type { DoorOptions } from '../core/toolbox.js';
import { PROTOCOL_VERSIONS } from '../core/upstream.js';

function whichIs<T>(expected: string, accepts: (value: unknown) => boolean): Shape<T> {
  return custom(expected, (value) => (accepts(value) ? (value as T) : undefined));
}

const listener = optional(whichIs<() => void>('a function', (value) => typeof value === 'function'));
const flag = optional(boolean);
const something = optional(table);
const milliseconds = whichIs<number>(
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

const OPTIONS = object({
  caller: optional(CALLER),
  signal: optional(signal),
  controller: something,
  timeoutMs: optional(milliseconds),
  onProgress: listener,
  onLog: listener,
  logLevel: optional(string),
  onOutput: listener,
  ready: listener,
  background: optional(life),
  full: flag,
  trust: flag,
  sandbox: optional(oneOf('none')),
  onPending: listener,
  approve: listener,
  checkPlan: listener,
  trace: something,
  fault: something,
  elicit: listener,
  client: something,
  ask: listener,
  found: something,
  offer: optional(strings),
  codeLimits: something,
  key: optional(string),
  dispatched: something,
  operation: something,
  entered: optional(list(table)),
  joined: optional(list(string)),
  as: optional(string),
  checkInput: flag,
} satisfies Record<keyof DoorOptions, unknown>);

/** Returns what is wrong with the options of a call. */
export function findOptionFault(options: unknown): ToolError | undefined {
  // Only doors can have one. They have types, and the check would be a tenth of a call over stdio.
  if (isRecord(options) && options.controller instanceof CallController) return undefined;
  return findFault(OPTIONS, options, 'the options of a call');
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
export function checkCaller(caller: unknown): void {
  const fault = caller === undefined ? undefined : findFault(CALLER, caller, 'caller');
  if (fault !== undefined) throw fault;
}

function findFault(shape: Shape<unknown>, value: unknown, whole: string): ToolError | undefined {
  const [fault] = readShape(shape, value).faults;
  if (fault === undefined) return undefined;
  const message = fault.path.length === 0 ? `${whole} ${fault.message}` : formatFault(fault);
  return new ToolError('usage', message, { hint: fault.hint });
}
