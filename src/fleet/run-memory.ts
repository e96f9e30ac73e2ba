// What a worker remembers about calls with a key, so that they run once although Redis lost its data (FLT-83).

import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../core/json.js';
import { namesIn } from '../files/list.js';
import { readStateFile } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
import type { Job, JobResult } from './job.js';
import type { FleetKey } from './key.js';
import { KEYED_MS } from './keyed-calls.js';

export interface Run {
  readonly worker: string;
  readonly binding: string;
  /** Missing while it runs, if its worker was killed, and if it is large. */
  readonly result?: JobResult;
}

export type RunMemory = ReturnType<typeof createRunMemory>;

const ID = /^[0-9a-f]{32}$/;
const MAX_RESULT_BYTES = 1024 * 1024;
const MAX_NOTES = 50_000;
const CLEAN_MS = 600_000;
const PURPOSE = 'started';

/** Each call is a sealed file in the wield home. Those of other workers are in memory. */
export function createRunMemory(key: FleetKey, worker: string, wieldHome: string) {
  const directory = join(wieldHome, 'fleet', key.fleet);
  // By ids of calls, oldest first.
  const notes = new Map<string, Run>();
  let cleaned = 0;
  // Several directories: each write looks for files that others left.
  const fileOf = (id: string): string => join(directory, id.slice(0, 2), id);
  const write = (id: string, run: Run): void =>
    writeFileAtomic(fileOf(id), `${key.seal(`run ${id}`, run as unknown as Json)}\n`);
  return {
    /** Returns what is known about the call of a job. */
    find({ id }: Job): Run | undefined {
      const sealed = ID.test(id) ? readStateFile(fileOf(id), 4 * MAX_RESULT_BYTES) : undefined;
      return sealed === undefined ? notes.get(id) : (key.open(`run ${id}`, sealed) as unknown as Run);
    },
    /** Remembers that a job is about to run, and removes what is older than an hour. Throws `io`. */
    start({ id, binding = '' }: Job, now: number): void {
      write(id, { worker, binding });
      if (Math.abs(now - cleaned) < CLEAN_MS) return;
      cleaned = now;
      clean(directory, now);
    },
    finish({ id, binding = '' }: Job, result: JobResult): void {
      const isSmall = JSON.stringify(result).length <= MAX_RESULT_BYTES;
      write(id, { worker, binding, ...(isSmall ? { result } : {}) });
    },
    /** Returns an announcement for the other workers. */
    announce: ({ id, binding = '' }: Job): string => key.seal(PURPOSE, { id, worker, binding }),
    /** Takes the announcement of another worker. Throws `integrity`. */
    note(sealed: string): void {
      const { id, ...run } = key.open(PURPOSE, sealed) as unknown as Run & { readonly id: string };
      if (run.worker === worker) return;
      notes.set(id, run);
      for (const oldest of notes.keys()) {
        if (notes.size <= MAX_NOTES) break;
        notes.delete(oldest);
      }
    },
  };
}

function clean(directory: string, now: number): void {
  for (const name of namesIn(directory))
    for (const id of namesIn(join(directory, name))) {
      const file = join(directory, name, id);
      if ((statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now) < now - KEYED_MS) removeFile(file);
    }
}
