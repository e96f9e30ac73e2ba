// Calls that run, as files for other processes: one per call, removed when it ends or its process is gone (UI-12).

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CallerKind } from '../core/caller.js';
import type { EventBase } from '../core/event.js';
import { isRecord } from '../core/json.js';
import { formatCaller } from '../core/name.js';
import { cutText, redactKnown } from '../core/redact.js';
import type { Snapshot } from '../core/snapshot.js';
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

const NAME = /^(\d{1,10})-(\d{1,20})-[\w-]{1,40}\.json$/;
const MAX_BYTES = 16 * 1024;
let started: number | undefined;

export interface ShowOptions {
  readonly pid: number;
  /** Wall clock in milliseconds. */
  readonly began: number;
  readonly snapshot: Snapshot;
  readonly debug: (message: string) => void;
}

const MAX_NAME = 200;

/** Makes a running call visible to other processes. Returns a function that ends that. */
export function showRunning(directory: string, event: EventBase, options: ShowOptions): () => void {
  const { pid, began, snapshot, debug } = options;
  const { call, parent = null, caller, ref } = event;
  const { workdir, secrets } = snapshot;
  const clean = (text: string): string => cutText(redactKnown(text, secrets), MAX_NAME);
  const running: RunningCall = {
    pid,
    call,
    parent,
    caller: clean(formatCaller(caller)),
    kind: caller.kind,
    door: clean(caller.door),
    tool: clean(ref),
    workdir,
    since: new Date(began).toISOString(),
  };
  started ??= startTime(pid) ?? 0;
  const path = join(directory, `${pid}-${started}-${call}.json`);
  try {
    writeFileAtomic(path, JSON.stringify(running), { durable: false });
  } catch (error) {
    debug(`a running call is not visible to others: ${(error as Error).message}`);
  }
  return () => removeFile(path);
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
