// The files of programs: suspended ones and answers, and which of them are removed to make room (COD-15).

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkStateDirectory } from '../../files/state.js';

export interface ProgramFile {
  readonly id: string;
  /** Identifies the caller. */
  readonly owner: string;
  /** Identifies owner and code. */
  readonly code: string;
  readonly path: string;
  /** When it was saved, or when the program ended, in milliseconds since 1970. */
  readonly saved: number;
  /** With the journal. */
  readonly bytes: number;
  readonly isAnswer: boolean;
}

const NAME = /^(p_[0-9a-f]{16})-([0-9a-f]{16})-([0-9a-f]{16})\.(?:json|(\d{1,16})\.answer)$/;

/** Lists the files by name, size and time: reading all programs would take seconds. */
export function listProgramFiles(directory: string): ProgramFile[] {
  if (!checkStateDirectory(directory)) return [];
  return readdirSync(directory).flatMap((name) => {
    const [, id, owner, code, ended] = NAME.exec(name) ?? [];
    const path = join(directory, name);
    const stats = id === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
    if (id === undefined || stats === undefined) return [];
    const isAnswer = ended !== undefined;
    const bytes = stats.size + (isAnswer ? 0 : sizeOf(journalOf(directory, id)));
    return [{ id, owner: owner!, code: code!, path, saved: isAnswer ? Number(ended) : stats.mtimeMs, bytes, isAnswer }];
  });
}

export function journalOf(directory: string, id: string): string {
  return join(directory, `${id}.journal`);
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

type Kept = Pick<ProgramFile, 'owner' | 'saved' | 'bytes'>;

const MIB = 1024 * 1024;
const OF_CALLER = { count: 64, bytes: 64 * MIB };
const OF_ALL = { count: 512, bytes: 256 * MIB };

/**
 * Returns what has to be removed: the oldest of a caller that has too many, then, if all together are too many, the
 * oldest of the caller that has most. So no caller loses something while another has more.
 */
export function findSurplus<T extends Kept>(kept: readonly T[]): T[] {
  const callers = new Map<string, T[]>();
  for (const one of [...kept].sort((a, b) => a.saved - b.saved))
    callers.set(one.owner, [...(callers.get(one.owner) ?? []), one]);
  const left = [...callers.values()];
  const surplus: T[] = [];
  for (const own of left) while (own.length > OF_CALLER.count || sum(own) > OF_CALLER.bytes) surplus.push(own.shift()!);
  for (;;) {
    const all = left.flat();
    if (all.length > OF_ALL.count) surplus.push(largest(left, (own) => own.length).shift()!);
    else if (sum(all) > OF_ALL.bytes) surplus.push(largest(left, sum).shift()!);
    else return surplus;
  }
}

function sum(kept: readonly Kept[]): number {
  return kept.reduce((total, { bytes }) => total + bytes, 0);
}

function largest<T>(callers: readonly T[][], measure: (own: readonly T[]) => number): T[] {
  return callers.reduce((most, own) => (measure(own) > measure(most) ? own : most));
}
