// The directory of approvals: finds approvals that are in force, and files that can be removed.

import { join } from 'node:path';
import { findAbandoned } from '../files/write.js';
import { type Approval, type ApprovalState, approvalName, listEntries, readApproval } from './approval-file.js';

export interface ApprovalDirectoryOptions {
  readonly directory: string;
  readonly now: () => number;
}

export interface StaleFile {
  readonly path: string;
  readonly reason: 'expired' | 'unreadable';
}

export type ApprovalDirectory = ReturnType<typeof createApprovalDirectory>;

const HOUR = 3_600_000;
/** How long an approval is in force, in milliseconds. */
export const LIFETIMES: Readonly<Record<ApprovalState, number>> = {
  pending: 24 * HOUR,
  approved: HOUR,
  denied: 24 * HOUR,
  standing: Number.POSITIVE_INFINITY,
  last: 90 * 24 * HOUR,
};
// If the clock was set back, the age of an approval is unknown, and it counts as expired.
const CLOCK_TOLERANCE = 60_000;

export function createApprovalDirectory({ directory, now }: ApprovalDirectoryOptions) {
  const isFresh = ({ since, state }: Approval): boolean => {
    const age = now() - since;
    return age <= LIFETIMES[state] && (age >= -CLOCK_TOLERANCE || state === 'standing');
  };
  return {
    pathOf: (id: string, state: ApprovalState): string => join(directory, approvalName(id, state, now())),
    /** Returns the approvals in the given states that have not expired. */
    find: (states: readonly ApprovalState[], id?: string): Approval[] =>
      listEntries(directory)
        .filter((entry) => states.includes(entry.state) && (id === undefined || entry.id === id))
        .map(readApproval)
        .filter((approval) => approval !== undefined)
        .filter(isFresh),
    /** Returns the files that have no effect any more. */
    stale: (): StaleFile[] => [
      ...listEntries(directory).flatMap((entry): StaleFile[] => {
        const approval = readApproval(entry);
        if (approval !== undefined && isFresh(approval)) return [];
        return [{ path: entry.path, reason: approval === undefined ? 'unreadable' : 'expired' }];
      }),
      ...findAbandoned(directory).map((path): StaleFile => ({ path, reason: 'expired' })),
    ],
  };
}
