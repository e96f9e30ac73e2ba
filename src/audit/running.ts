// Calls that run, as files for other processes: one per call, removed when it ends or its process is gone (UI-12).

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CALLER_KINDS } from '../core/caller.js';
import type { EventBase } from '../core/event.js';
import { formatCaller } from '../core/name.js';
import { cutText, redactKnown } from '../core/redact.js';
import { type Infer, nullable, number, object, oneOf, string } from '../core/shape.js';
import type { Snapshot } from '../core/snapshot.js';
import { isAlive, startTime } from '../files/process-identity.js';
import { readStateAs } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { checkStateDirectory } from '../files/state.js';
import { writeFileAtomic } from '../files/write.js';

const RUNNING = object(
  {
    pid: number,
    call: string,
    parent: nullable(string),
    caller: string,
    kind: oneOf(...CALLER_KINDS),
    door: string,
    /** The reference as given. */
    tool: string,
    workdir: string,
    /** When it started, in ISO format. */
    since: string,
  },
  { unknown: 'drop' },
);
/** A call that runs, without its input. */
export type RunningCall = Infer<typeof RUNNING>;

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

/** Returns the calls that run in any process, with its start, and removes files of processes that were killed. */
export function readRunning(directory: string): (RunningCall & { readonly started: number })[] {
  if (!checkStateDirectory(directory)) return [];
  return readdirSync(directory).flatMap((name) => {
    const match = NAME.exec(name);
    if (match === null) return [];
    const path = join(directory, name);
    const [pid, started] = [Number(match[1]), Number(match[2])];
    const isRunning = isAlive(pid, started);
    const call = isRunning ? readStateAs(RUNNING, path, MAX_BYTES) : undefined;
    if (!isRunning) removeFile(path);
    return call === undefined ? [] : [{ ...call, started }];
  });
}
