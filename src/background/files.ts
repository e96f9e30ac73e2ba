// What other processes see of processes in the background: a file for each, and a way to stop it.

import { join } from 'node:path';
import { CALLER_KINDS } from '../core/caller.js';
import { boolean, type Infer, integer, nullable, object, oneOf, optional, string } from '../core/shape.js';
import { namesIn } from '../files/list.js';
import { isAlive, startTime } from '../files/process-identity.js';
import { readStateAs, statOrNothing } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { checkStateDirectory } from '../files/state.js';
import { writeFileAtomic } from '../files/write.js';
import { removeOutput } from './output.js';

const SHOWN = object(
  {
    id: string,
    tool: string,
    /** Of the process; null until it has started. */
    pid: nullable(integer(0)),
    caller: string,
    kind: oneOf(...CALLER_KINDS),
    workdir: string,
    /** When it was started, in ISO format. */
    since: string,
    /** How it ended; absent while it runs. */
    ended: optional(string),
    /** Whether it ended with status 0. */
    ok: optional(boolean),
  },
  { unknown: 'drop' },
);
/** A process in the background, as other processes see it. */
export type ShownProcess = Infer<typeof SHOWN>;

/** A process in the background of any wield process, with the beginning of the paths of its files. */
export interface FoundProcess extends ShownProcess {
  readonly base: string;
}

const NAME = /^(\d{1,10})-(\d{1,20})-b_[0-9a-f]{12}(?=\.)/;
const MAX_BYTES = 16 * 1024;
let started: number | undefined;

/** Returns where the processes of a user are shown. */
export function backgroundDirectory(wieldHome: string): string {
  return join(wieldHome, 'background');
}

/** Returns the beginning of the paths of the files of a process: they begin with the id of the wield process that runs it. */
export function basePath(directory: string, id: string): string {
  started ??= startTime(process.pid) ?? 0;
  return join(directory, `${process.pid}-${started}-${id}`);
}

/** Shows a process to other processes. Throws `io`. */
export function showProcess(base: string, shown: ShownProcess): void {
  writeFileAtomic(`${base}.json`, JSON.stringify(shown), { durable: false });
}

/** Removes everything about a process. */
export function removeProcess(base: string): void {
  removeOutput(base);
  for (const ending of ['json', 'stop']) removeFile(`${base}.${ending}`);
}

/** Asks the wield process that runs it to stop a process. */
export function requestStop(base: string): void {
  writeFileAtomic(`${base}.stop`, '', { durable: false });
}

export function isStopRequested(base: string): boolean {
  return statOrNothing(`${base}.stop`) !== undefined;
}

/** Returns the processes of all wield processes, oldest first, and removes files of those that were killed. */
export function readProcesses(directory: string): FoundProcess[] {
  if (!checkStateDirectory(directory)) return [];
  const found = namesIn(directory).flatMap((name) => {
    const match = NAME.exec(name);
    if (match === null) return [];
    if (!isAlive(Number(match[1]), Number(match[2]))) removeFile(join(directory, name));
    const shown = name.endsWith('.json') ? readStateAs(SHOWN, join(directory, name), MAX_BYTES) : undefined;
    return shown === undefined ? [] : [{ ...shown, base: join(directory, match[0]) }];
  });
  return found.sort((one, other) => (one.since < other.since ? -1 : 1));
}
