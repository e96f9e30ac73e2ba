// Outcomes of calls in a fleet: the result of a worker as an output, and errors that say what is known (FLT-10).

import { isToolError, reviveError, ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { Output, ToolResult } from '../core/result.js';
import { count, formatDuration } from '../core/text.js';
import type { Refusal } from './job.js';

/** Whether a call ran: `no` is certain, because no worker was allowed to run it, and none will be. */
export type Ran = 'no' | 'maybe';

/** Turns the result of a worker into an output; the front shapes and records it like any other. */
export function toOutput({ content, structured, error, meta }: ToolResult): Output {
  const { durationMs: _, repaired: __, ...rest } = meta;
  return {
    content: error === undefined || content.some((part) => part.type !== 'text' || part.text !== '') ? content : [],
    ...(structured === undefined ? {} : { structured }),
    ...(error === undefined ? {} : { error: reviveError(error) }),
    meta: rest,
  };
}

export function saysNotRun(error: unknown): boolean {
  const fleet = isToolError(error) && isRecord(error.data) ? error.data.fleet : undefined;
  return isRecord(fleet) && fleet.ran === ('no' satisfies Ran);
}

// No worker was allowed to run the call, and none will be.
const NOT_RUN = { started: false, ran: 'no' satisfies Ran };

function unavailable(message: string, hint: string, fleet: object): ToolError {
  return new ToolError('unavailable', message, { hint, data: { fleet } });
}

export function lostWorker(tool: string, worker: string): ToolError {
  return unavailable(
    `worker ${worker} was lost while it ran ${tool}, which may have run in part`,
    'check what it did before you call it again',
    { worker, started: true, ran: 'maybe' satisfies Ran },
  );
}

export function lostCall(tool: string): ToolError {
  return unavailable(
    `the front that ran the call of ${tool} with this key is gone; it may have run`,
    'check what it did before you call it again with another key',
    { ran: 'maybe' satisfies Ran },
  );
}

/** `address` is that of the fleet, for the command that starts a worker. */
export function noWorker(tool: string, tag: string, waitedMs: number, address: string): ToolError {
  const which = tag === '' ? 'no worker' : `no worker with the tag ${tag}`;
  return unavailable(
    `${tool} was not run: ${which} was connected for ${formatDuration(waitedMs)}`,
    `start one with the same key: wield worker --fleet ${address}${tag === '' ? '' : ` --tags ${tag}`}`,
    NOT_RUN,
  );
}

export function noQueue(tool: string, why: string): ToolError {
  return unavailable(
    `${tool} was not run, because it could not be queued: ${why}`,
    'call it again when Redis answers',
    NOT_RUN,
  );
}

/** A call with a key, of which nothing is known (FLT-12). */
export function unknownKey(tool: string, why: string): ToolError {
  return unavailable(
    `${tool} could not be queued, and an earlier call with the same key may have run: ${why}`,
    'call it again with the same key when Redis answers',
    { ran: 'maybe' satisfies Ran },
  );
}

const SAME_VERSION =
  'install the same version of the tool on fronts and workers, for example with wield install --frozen';
const REFUSAL_HINTS: Readonly<Partial<Record<Refusal['code'], string>>> = {
  needs_trust: 'a person must review its tools and run there: wield trust, or start it with --trust',
  conflict: 'use a new key for every call, and the same key only to repeat one',
  denied: 'grant it in the configuration of the worker too: env.pass, or env.pass of the tool',
};

/** Returns the error for a call that a worker refused (FLT-5, FLT-70, FLT-83). */
export function refused(tool: string, { worker, code, message }: Refusal): ToolError {
  if (code === 'unavailable') {
    return unavailable(
      `${tool} was not run again: ${message}`,
      'check what it did before you call it with another key; let Redis keep its data: appendonly yes',
      { worker, ran: 'maybe' satisfies Ran },
    );
  }
  return new ToolError(code, `${tool} was not run: ${message}`, {
    hint: REFUSAL_HINTS[code] ?? SAME_VERSION,
    data: { fleet: { worker, ...NOT_RUN } },
  });
}

const FULL_RETRY_MS = 5000;

/** Returns `busy` if Redis refused a command because it is full (FLT-15), else undefined. */
export function busyIfFull(what: string, error: unknown, hasKey = false): ToolError | undefined {
  if (!/^OOM /.test((error as Error).message)) return undefined;
  return busy(`${what}: Redis is full`, { retryAfterMs: FULL_RETRY_MS, remedy: 'raise maxmemory of Redis', hasKey });
}

export function busyFleet(tool: string, waiting: number, retryAfterMs: number, hasKey: boolean): ToolError {
  const why = `${count(waiting, 'call')} wait for workers`;
  return busy(`${notRun(tool, hasKey)}: ${why}`, { retryAfterMs, remedy: 'start more workers', hasKey });
}

interface BusyOptions {
  readonly retryAfterMs: number;
  readonly remedy: string;
  /** An earlier call with the same key may have run. */
  readonly hasKey: boolean;
}

/** Says that this call was not run; an earlier one with the same key may have been. */
export function notRun(tool: string, hasKey: boolean): string {
  return `${tool} was not ${hasKey ? 'queued' : 'run'}`;
}

function busy(message: string, { retryAfterMs, remedy, hasKey }: BusyOptions): ToolError {
  const again = `call again${hasKey ? ' with the same key' : ''} in ${Math.ceil(retryAfterMs / 1000)} s, or ${remedy}`;
  return new ToolError('busy', message, {
    hint: hasKey ? `${again}; an earlier call with this key may have run` : again,
    data: { retryAfterMs, fleet: hasKey ? { ran: 'maybe' satisfies Ran } : NOT_RUN },
  });
}

export function otherCall(tool: string): ToolError {
  return new ToolError('conflict', `${tool} was not run: another call with another input has the same key`, {
    hint: 'use a new key for every call, and the same key only to repeat one',
  });
}

/** The error for a process in the background: a worker could neither read it for a session, nor end it with one (BGR-7). */
export function notInBackground(tool: string): ToolError {
  return new ToolError('unavailable', `${tool} was not started: workers of a fleet run nothing in the background`, {
    hint: 'run it on this machine: wield serve without --fleet, or wield call',
  });
}
