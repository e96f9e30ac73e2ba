// Outcomes of calls in a fleet: the result of a worker as an output, and errors that say what is known (FLT-10).

import { ToolError } from '../core/error.js';
import type { Output, ToolResult } from '../core/result.js';
import { count } from '../core/text.js';
import type { Refusal } from './job.js';

/** Whether a call ran: `no` is certain, because the front withdrew it before a worker could start it. */
export type Ran = 'no' | 'maybe';

/** Turns the result of a worker into an output; the front shapes and records it like any other. */
export function toOutput({ content, structured, error, meta }: ToolResult): Output {
  const { durationMs: _, repaired: __, ...rest } = meta;
  return {
    content: error === undefined || content.some((part) => part.type !== 'text' || part.text !== '') ? content : [],
    ...(structured === undefined ? {} : { structured }),
    ...(error === undefined
      ? {}
      : { error: new ToolError(error.code, error.message, { hint: error.hint, data: error.data }) }),
    meta: rest,
  };
}

export function lostWorker(tool: string, worker: string): ToolError {
  return new ToolError('unavailable', `worker ${worker} was lost while it ran ${tool}, which may have run in part`, {
    hint: 'check what it did before you call it again',
    data: { fleet: { worker, started: true, ran: 'maybe' satisfies Ran } },
  });
}

export function lostCall(tool: string): ToolError {
  return new ToolError('unavailable', `the queue lost the call of ${tool}; it may have run`, {
    hint: 'check what it did before you call it again; let Redis keep its data: appendonly yes',
    data: { fleet: { ran: 'maybe' satisfies Ran } },
  });
}

export function noWorker(tool: string, tag: string): ToolError {
  return new ToolError(
    'unavailable',
    `no worker${tag === '' ? '' : ` with the tag ${tag}`} is connected; ${tool} was not run`,
    {
      hint: `start one with the same key: wield worker --fleet URL${tag === '' ? '' : ` --tags ${tag}`}`,
      data: { fleet: { started: false, ran: 'no' satisfies Ran } },
    },
  );
}

export function noQueue(tool: string, why: string, ran: Ran): ToolError {
  const once = '; it runs at most once if the call has a key (_meta wield/key)';
  return new ToolError('unavailable', `${tool} could not be queued: ${why}`, {
    hint: `call it again when Redis answers${ran === 'no' ? '' : once}`,
    data: { fleet: { ran } },
  });
}

/** FLT-5 */
export function refused(tool: string, { worker, code, message }: Refusal): ToolError {
  return new ToolError(code, `${tool} was not run: ${message}`, {
    hint:
      code === 'needs_trust'
        ? 'a person must review its tools and run there: wield trust, or start it with --trust'
        : 'install the same version of the tool on fronts and workers, for example with wield install --frozen',
    data: { fleet: { worker, started: false, ran: 'no' satisfies Ran } },
  });
}

const FULL_RETRY_MS = 5000;

/** Returns `busy` if Redis refused a command because it is full (FLT-15), else undefined. */
export function busyIfFull(what: string, error: unknown): ToolError | undefined {
  if (!/^OOM /.test((error as Error).message)) return undefined;
  return busy(`${what}: Redis is full`, FULL_RETRY_MS, 'raise maxmemory of Redis');
}

export function busyFleet(tool: string, waiting: number, retryAfterMs: number): ToolError {
  const why = `${count(waiting, 'call')} wait for workers`;
  return busy(`${tool} was not run: ${why}`, retryAfterMs, 'start more workers');
}

function busy(message: string, retryAfterMs: number, remedy: string): ToolError {
  return new ToolError('busy', message, {
    hint: `call again in ${Math.ceil(retryAfterMs / 1000)} s, or ${remedy}`,
    data: { retryAfterMs, fleet: { started: false, ran: 'no' satisfies Ran } },
  });
}

export function otherCall(tool: string): ToolError {
  return new ToolError('conflict', `${tool} was not run: another call with another input has the same key`, {
    hint: 'use a new key for every call, and the same key only to repeat one',
  });
}
