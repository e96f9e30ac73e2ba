// The directory of approvals: finds approvals that are in force, and files that can be removed.

import { join } from 'node:path';
import type { ApprovalRecord } from '../core/approval.js';
import { removeFile } from '../files/remove.js';
import { findAbandoned, moveDurably } from '../files/write.js';
import {
  type Approval,
  type ApprovalState,
  approvalName,
  listEntries,
  readApproval,
  writeApproval,
} from './approval-file.js';

export interface ApprovalDirectoryOptions {
  readonly directory: string;
  readonly now: () => number;
}

export interface StaleFile {
  readonly path: string;
  readonly reason: 'expired' | 'unreadable';
}

/** Where approvals are stored: a directory, or a copy of what is stored elsewhere. */
export interface ApprovalPlace {
  /** Returns the approvals in the given states that have not expired. */
  find(states: readonly ApprovalState[], id?: string): Approval[];
  /** Stores a record; returns false if it is too long. */
  write(id: string, state: ApprovalState, record: ApprovalRecord): boolean;
  /** Changes id and state at once, then adds a note if there is one; returns false if another process was faster. */
  move(from: Approval, id: string, state: ApprovalState, note?: string): boolean;
  /** Removes an approval, if it exists. */
  remove(id: string, state: ApprovalState): void;
  drop(path: string): void;
  /** Returns the files that have no effect any more. */
  stale(): StaleFile[];
}

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

/** Whether an approval has not expired. */
export function isInForce({ since, state }: Approval, now: number): boolean {
  const age = now - since;
  return age <= LIFETIMES[state] && (age >= -CLOCK_TOLERANCE || state === 'standing');
}

export function createApprovalDirectory({ directory, now }: ApprovalDirectoryOptions): ApprovalPlace {
  const pathOf = (id: string, state: ApprovalState): string => join(directory, approvalName(id, state, now()));
  const isFresh = (approval: Approval): boolean => isInForce(approval, now());
  return {
    find: (states, id) =>
      listEntries(directory)
        .filter((entry) => states.includes(entry.state) && (id === undefined || entry.id === id))
        .map(readApproval)
        .filter((approval) => approval !== undefined)
        .filter(isFresh),
    write: (id, state, record) => writeApproval(pathOf(id, state), record),
    move(from, id, state, note) {
      const to = pathOf(id, state);
      if (!moveDurably(from.path, to)) return false;
      // Last: an approval that a caller used meanwhile must not come back.
      if (note) writeApproval(to, from.record, note);
      return true;
    },
    remove: (id, state) => removeFile(pathOf(id, state)),
    drop: (path) => removeFile(path),
    stale: () => [
      ...listEntries(directory).flatMap((entry): StaleFile[] => {
        const approval = readApproval(entry);
        if (approval !== undefined && isFresh(approval)) return [];
        return [{ path: entry.path, reason: approval === undefined ? 'unreadable' : 'expired' }];
      }),
      ...findAbandoned(directory).map((path): StaleFile => ({ path, reason: 'expired' })),
    ],
  };
}
