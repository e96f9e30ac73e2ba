// Checks the options of public methods: a program without types may pass anything (RUN-14).

import type { Caller } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { DoorOptions } from '../core/toolbox.js';

type Kind = readonly [expected: string, isValid: (value: unknown) => boolean];

const TEXT: Kind = ['a string', (value) => typeof value === 'string'];
const FLAG: Kind = ['true or false', (value) => typeof value === 'boolean'];
const FUNCTION: Kind = ['a function', (value) => typeof value === 'function'];
const OBJECT: Kind = ['an object', isRecord];
const DURATION: Kind = ['a positive number of milliseconds', (value) => typeof value === 'number' && value > 0];
const NAMES: Kind = [
  'a list of strings',
  (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
];
const SIGNAL: Kind = [
  'an AbortSignal',
  (value) => typeof (value as AbortSignal | null)?.addEventListener === 'function',
];

const CALLER: Readonly<Record<keyof Caller, Kind>> = {
  kind: ['person, model or code', (value) => value === 'person' || value === 'model' || value === 'code'],
  door: ["a string, such as 'library'", (value) => typeof value === 'string' && value !== ''],
  name: TEXT,
  session: TEXT,
  apps: FLAG,
};

const OPTIONS: Readonly<Record<keyof DoorOptions, Kind>> = {
  caller: OBJECT,
  signal: SIGNAL,
  timeoutMs: DURATION,
  onProgress: FUNCTION,
  onLog: FUNCTION,
  logLevel: TEXT,
  onOutput: FUNCTION,
  ready: FUNCTION,
  full: FLAG,
  trust: FLAG,
  sandbox: ["'none'", (value) => value === 'none'],
  onPending: FUNCTION,
  approve: FUNCTION,
  checkPlan: FUNCTION,
  trace: OBJECT,
  fault: OBJECT,
  elicit: FUNCTION,
  client: OBJECT,
  ask: FUNCTION,
  found: OBJECT,
  offer: NAMES,
  codeLimits: OBJECT,
  key: TEXT,
  dispatched: OBJECT,
  as: TEXT,
  checkInput: FLAG,
};

/** Returns what is wrong with the options of a call. */
export function findOptionFault(options: unknown): ToolError | undefined {
  if (!isRecord(options)) return fault('the options of a call must be an object', 'see CallOptions');
  const { caller } = options;
  return findFault(options, OPTIONS, '') ?? (caller === undefined ? undefined : findCallerFault(caller));
}

/** Returns options for a call that fails with the fault; of the given ones, only a valid caller is kept. */
export function withFault(options: DoorOptions | null, fault: ToolError): DoorOptions {
  const caller = options?.caller;
  return caller === undefined || findCallerFault(caller) !== undefined ? { fault } : { fault, caller };
}

/** Throws `usage`. */
export function checkCallOptions(options: unknown): void {
  const found = findOptionFault(options);
  if (found !== undefined) throw found;
}

/** Throws `usage`. */
export function checkCaller(caller: unknown): void {
  const found = caller === undefined ? undefined : findCallerFault(caller);
  if (found !== undefined) throw found;
}

function findCallerFault(caller: unknown): ToolError | undefined {
  if (!isRecord(caller)) return fault('caller must be an object', EXAMPLE);
  for (const needed of ['kind', 'door'] as const)
    if (caller[needed] === undefined) return fault(`caller.${needed} is missing: ${CALLER[needed][0]}`, EXAMPLE);
  return findFault(caller, CALLER, 'caller.');
}

const EXAMPLE = "for example { caller: { kind: 'model', door: 'library', name: 'agent' } }";

function findFault(
  given: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, Kind>>,
  prefix: string,
): ToolError | undefined {
  for (const key in given) {
    const value = given[key];
    if (value === undefined) continue;
    const shown = `${prefix}${quoteOutside(key, 40)}`;
    if (!Object.hasOwn(known, key)) {
      const [close] = nearest(key, Object.keys(known));
      const hint = close === undefined ? `known: ${Object.keys(known).join(', ')}` : `did you mean ${close}?`;
      return fault(`unknown option ${shown}`, hint);
    }
    const [expected, isValid] = known[key]!;
    if (!isValid(value)) return fault(`${shown} must be ${expected}`, EXAMPLE);
  }
  return undefined;
}

function fault(message: string, hint: string): ToolError {
  return new ToolError('usage', message, { hint });
}
