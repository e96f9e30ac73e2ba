// Where approvals are stored: finds those that are in force, and those that can be removed.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ApprovalRecord } from '../core/approval.js';
import { orNothing } from '../core/error.js';
import { readStateFile } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { checkStateDirectory } from '../files/state.js';
import { findAbandoned, moveDurably, writeFileAtomic } from '../files/write.js';
import {
  type Answer,
  type Approval,
  type ApprovalEntry,
  type ApprovalState,
  approvalName,
  formatApproval,
  MAX_RECORD_BYTES,
  parseApproval,
  parsePath,
} from './approval-file.js';

export interface ApprovalDirectoryOptions {
  readonly directory: string;
  readonly now: () => number;
}

export interface StaleFile {
  readonly path: string;
  readonly reason: 'expired' | 'unreadable';
}

/** The texts of approvals by path: of a directory, or of a copy of what is stored elsewhere. */
export interface ApprovalTexts {
  now(): number;
  list(): readonly string[];
  /** Returns undefined if it cannot be read. */
  read(path: string): string | undefined;
  pathOf(name: string): string;
  write(path: string, text: string): void;
  /** Returns false if another process was faster. */
  move(from: string, to: string): boolean;
  remove(path: string): void;
  /** Whether records get the time of this clock, because those of machines may differ. */
  readonly setsTime?: boolean;
}

/** The approvals of texts. */
export type ApprovalStorage = ReturnType<typeof createApprovalStorage>;

const DAY = 24 * 3_600_000;
/** How long an approval is in force, in milliseconds: people answer after a weekend, and callers come back later (POL-7). */
export const LIFETIMES: Readonly<Record<ApprovalState, number>> = {
  pending: 7 * DAY,
  approved: DAY,
  denied: DAY,
  standing: Number.POSITIVE_INFINITY,
  last: 90 * DAY,
};
// If the clock was set back, the age of an approval is unknown, and it counts as expired.
const CLOCK_TOLERANCE = 60_000;

function isInForce({ since, state }: Approval, now: number): boolean {
  const age = now - since;
  return age <= LIFETIMES[state] && (age >= -CLOCK_TOLERANCE || state === 'standing');
}

export function createApprovalStorage(texts: ApprovalTexts) {
  const pathOf = (id: string, state: ApprovalState): string => texts.pathOf(approvalName(id, state, texts.now()));
  const isFresh = (approval: Approval): boolean => isInForce(approval, texts.now());
  const entries = (): ApprovalEntry[] => texts.list().flatMap(parsePath);
  const read = (entry: ApprovalEntry): Approval | undefined => parseApproval(entry, texts.read(entry.path) ?? 'null');
  return {
    /** Returns the approvals in the given states that have not expired. */
    find: (states: readonly ApprovalState[], id?: string): Approval[] =>
      entries()
        .filter((entry) => states.includes(entry.state) && (id === undefined || entry.id === id))
        .map(read)
        .filter((approval) => approval !== undefined)
        .filter(isFresh),
    /** Stores a record; returns false if it is too long. */
    write(id: string, state: ApprovalState, record: ApprovalRecord, answer?: Answer): boolean {
      const text = formatApproval(texts.setsTime ? { ...record, created: texts.now() } : record, answer);
      if (text !== undefined) texts.write(pathOf(id, state), text);
      return text !== undefined;
    },
    /** Changes id and state at once, and stores what else an answer says; returns false if another process was faster. */
    move(from: Approval, id: string, state: ApprovalState, answer?: Answer): boolean {
      const to = pathOf(id, state);
      const isStored = answer === undefined || (answer.by === from.by && answer.note === from.note);
      const text = isStored ? undefined : formatApproval(from.record, answer);
      // An approval that a caller used meanwhile must not come back: nothing is written where one is or was.
      if (text !== undefined && state === 'approved' && texts.read(from.path) !== undefined)
        texts.write(from.path, text);
      if (!texts.move(from.path, to)) return false;
      if (text !== undefined && state !== 'approved') texts.write(to, text);
      return true;
    },
    /** Removes an approval, if it exists. */
    remove: (id: string, state: ApprovalState): void => texts.remove(pathOf(id, state)),
    drop: texts.remove,
    /** Returns the files that have no effect any more. */
    stale: (): StaleFile[] =>
      entries().flatMap((entry): StaleFile[] => {
        const approval = read(entry);
        if (approval !== undefined && isFresh(approval)) return [];
        return [{ path: entry.path, reason: approval === undefined ? 'unreadable' : 'expired' }];
      }),
  };
}

export function createApprovalDirectory({ directory, now }: ApprovalDirectoryOptions): ApprovalStorage {
  const storage = createApprovalStorage({
    now,
    list: () => (checkStateDirectory(directory) ? readdirSync(directory).map((name) => join(directory, name)) : []),
    read(path) {
      return orNothing(() => readStateFile(path, MAX_RECORD_BYTES));
    },
    pathOf: (name) => join(directory, name),
    write: writeFileAtomic,
    move: moveDurably,
    remove: removeFile,
  });
  const abandoned = (): StaleFile[] => findAbandoned(directory).map((path) => ({ path, reason: 'expired' }));
  return { ...storage, stale: () => [...storage.stale(), ...abandoned()] };
}
