// A job: a call with the decision of a front, sealed with the key of the fleet. A result: what a worker answers.

import type { Consent } from '../core/approval.js';
import type { Caller, TraceParent } from '../core/caller.js';
import { canonicalJson, type Json } from '../core/json.js';
import type { EnteredLabel } from '../core/label.js';
import { callerKey } from '../core/name.js';
import type { Variables } from '../core/plan.js';
import type { ToolResult } from '../core/result.js';
import type { FleetKey } from './key.js';

export interface Job {
  /** Identifies the call; derived from its key, if it has one. */
  readonly id: string;
  /** Counts from 1; every attempt is a job of its own. */
  readonly attempt: number;
  readonly front: string;
  readonly tool: string;
  readonly digest: string;
  readonly input: Json;
  readonly caller: Caller;
  /** The front allowed the call, with this consent if it needed one. */
  readonly approval?: Consent | undefined;
  /** Milliseconds; counts from `queued`. */
  readonly timeoutMs: number;
  /** Milliseconds of the time of Redis. */
  readonly queued: number;
  /** How long the result is kept. */
  readonly keepMs: number;
  /** What the call does, if it has a key. */
  readonly binding?: string | undefined;
  readonly trace?: TraceParent | undefined;
  /** What the front granted the tool (FLT-70). */
  readonly variables?: Variables | undefined;
  /** What the session of the caller has read (FLW-5). */
  readonly entered?: readonly EnteredLabel[] | undefined;
  /** Whether the caller has no session, so that labels count for a time only. */
  readonly isStateless?: boolean;
  /** What the front wants while the call runs. */
  readonly wants: { readonly progress: boolean; readonly output: boolean; readonly log: boolean };
}

/** What a worker answers. */
export interface JobResult {
  readonly worker: string;
  readonly attempt: number;
  /** Whether the tool was started; a call that was refused before can be repeated with its key. */
  readonly started: boolean;
  /** Of the job. */
  readonly binding?: string | undefined;
  readonly result: ToolResult;
}

/** Why a worker did not run a job. Others may answer it. */
export interface Refusal {
  readonly worker: string;
  /** `unavailable`: a worker ran it before, with the same key. */
  readonly code: 'not_found' | 'integrity' | 'needs_trust' | 'denied' | 'conflict' | 'unavailable';
  readonly message: string;
}

/** A message to a front, about a job. */
export type Reply =
  /** The worker would run the job, if the front lets it; the nonce is of this question only. */
  | { readonly type: 'offer'; readonly worker: string; readonly nonce: string }
  /** The worker got no answer in time, and will not run the job for this nonce. */
  | { readonly type: 'declined'; readonly nonce: string }
  | { readonly type: 'done' }
  | { readonly type: 'refused'; readonly refusal: Refusal }
  | { readonly type: 'progress' | 'log'; readonly value: Json }
  | { readonly type: 'output'; readonly from: 'stdout' | 'stderr'; readonly base64: string };

/** A message to a worker, about a job: whether to run it, or to stop it. */
export type Order =
  | { readonly type: 'run' | 'leave'; readonly jobId: string; readonly nonce: string }
  | { readonly type: 'cancel'; readonly jobId: string };

/** BullMQ's id of an attempt. */
export function toJobId({ id, attempt }: Pick<Job, 'id' | 'attempt'>): string {
  return `${id}-${attempt}`;
}

/** Returns the id of a call: the same for the same key of the same caller. */
export function toCallId(key: FleetKey, caller: Caller, given: string): string {
  // Without the session: a client that repeats a call at another front may have a new one.
  const { kind, door, name = '', user } = caller;
  const whose = user === undefined ? [kind, door, name] : [callerKey(caller)];
  return key.name('call', ...whose, given).slice(0, 32);
}

/** Identifies what a keyed call does, without revealing it. */
export function toBinding(key: FleetKey, tool: string, input: Json): string {
  return key.name('binding', tool, canonicalJson(input)).slice(0, 32);
}

/** What members of a fleet write for each other, by the purpose that it is sealed for. */
interface Messages {
  readonly job: Job;
  readonly result: JobResult;
  readonly reply: Reply;
  readonly order: Order;
}

/** Seals a message for the job, call or worker with this id. */
export function sealMessage<Kind extends keyof Messages>(
  key: FleetKey,
  kind: Kind,
  id: string,
  message: Messages[Kind],
): string {
  return key.seal(`${kind} ${id}`, message as unknown as Json);
}

/** Throws `integrity` if the message is not sealed, or was sealed for another purpose or id. */
export function openMessage<Kind extends keyof Messages>(
  key: FleetKey,
  kind: Kind,
  id: string,
  sealed: string,
): Messages[Kind] {
  return key.open(`${kind} ${id}`, sealed) as unknown as Messages[Kind];
}
