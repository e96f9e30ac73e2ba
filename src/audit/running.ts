// Calls that run, as files for other processes: one per call, removed when it ends or its process is gone (UI-12).

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CallerKind } from '../core/caller.js';
import type { EventBase } from '../core/event.js';
import { isRecord } from '../core/json.js';
import { formatCaller } from '../core/name.js';
import { cutText, redactKnown } from '../core/redact.js';
import type { Snapshot, World } from '../core/snapshot.js';
import { isAlive, startTime } from '../files/process-identity.js';
import { readStateFile } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { checkStateDirectory } from '../files/state.js';
import { writeFileAtomic } from '../files/write.js';

/** A call that runs, without its input. */
export interface RunningCall {
  readonly pid: number;
  readonly call: string;
  readonly parent: string | null;
  readonly caller: string;
  readonly kind: CallerKind;
  readonly door: string;
  /** The reference as given. */
  readonly tool: string;
  readonly workdir: string;
  /** When it started, in ISO format. */
  readonly since: string;
}

const NAME = /^(\d{1,10})-(\d{1,20})-c[\da-z]{1,12}\.json$/;
const MAX_BYTES = 16 * 1024;
let started: number | undefined;

function pathOf(directory: string, { pid, call }: Pick<RunningCall, 'pid' | 'call'>): string {
  started ??= startTime(pid) ?? 0;
  return join(directory, `${pid}-${started}-${call}.json`);
}

/** A call of this process. */
export interface StartedCall {
  readonly event: EventBase;
  readonly snapshot: Snapshot;
  /** By the monotonic clock. */
  readonly at: number;
  /** Removes its file, once there is one. */
  remove?: () => void;
}

export interface ShowOptions {
  readonly pid: number;
  readonly world: World;
}

// Less than the timer that calls it.
const MIN_AGE_MS = 250;
const MAX_NAME = 200;

/** Makes calls that run for a while visible to other processes. Returns whether there are others. */
export function showRunning(directory: string, calls: readonly StartedCall[], { pid, world }: ShowOptions): boolean {
  let isLeft = false;
  for (const started of calls) {
    if (started.remove !== undefined) continue;
    const ageMs = world.monotonic() - started.at;
    if (ageMs < MIN_AGE_MS) {
      isLeft = true;
      continue;
    }
    const path = pathOf(directory, { pid, call: started.event.call });
    started.remove = () => removeFile(path);
    try {
      const running = toRunning(started, pid, new Date(world.now() - ageMs).toISOString());
      writeFileAtomic(path, JSON.stringify(running), { durable: false });
    } catch (error) {
      world.debug(`a running call is not visible to others: ${(error as Error).message}`);
    }
  }
  return isLeft;
}

function toRunning({ event, snapshot }: StartedCall, pid: number, since: string): RunningCall {
  const { call, parent = null, caller, ref } = event;
  const { workdir, secrets } = snapshot;
  const clean = (text: string): string => cutText(redactKnown(text, secrets), MAX_NAME);
  const [name, door, tool] = [formatCaller(caller), caller.door, ref].map(clean) as [string, string, string];
  return { pid, call, parent, caller: name, kind: caller.kind, door, tool, workdir, since };
}

/** Returns the calls that run in any process, and removes files of processes that were killed. */
export function readRunning(directory: string): RunningCall[] {
  if (!checkStateDirectory(directory)) return [];
  return readdirSync(directory).flatMap((name) => {
    const match = NAME.exec(name);
    if (match === null) return [];
    const path = join(directory, name);
    if (isAlive(Number(match[1]), Number(match[2]))) return parse(path);
    removeFile(path);
    return [];
  });
}

const TEXTS = ['call', 'caller', 'kind', 'door', 'tool', 'workdir', 'since'];

function parse(path: string): RunningCall[] {
  try {
    const value: unknown = JSON.parse(readStateFile(path, MAX_BYTES) ?? 'null');
    const isWhole = isRecord(value) && TEXTS.every((key) => typeof value[key] === 'string');
    return isWhole ? [value as unknown as RunningCall] : [];
  } catch {
    // Ended since it was listed.
    return [];
  }
}
