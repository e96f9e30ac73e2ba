// Approvals: calls that wait, that may run once, that were refused, and tools that always may; kept as files (POL-7).

import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ApprovalRecord, Approvals } from '../core/approval.js';
import { describeForDiff } from '../core/approval-text.js';
import { lineDiff } from '../core/diff.js';
import { isToolError, ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import { moveDurably } from '../files/write.js';
import {
  type Approval,
  type ApprovalState,
  approvalName,
  listEntries,
  readApproval,
  writeApproval,
} from './approval-file.js';
import { idOf, standingIdOf, toolIdOf } from './binding.js';

export type { Approval, ApprovalState } from './approval-file.js';

export interface ApprovalStore extends Approvals {
  /** What is in force or waits, oldest first. */
  list(): readonly Approval[];
  /** Throws `not_found`. */
  find(id: string): Approval;
  /** Lets a call run once, or the tool as it is now always. */
  approve(id: string, always: boolean): Approval;
  /** Refuses what waits, takes back what was approved, revokes what stands. */
  deny(id: string): Approval;
  /** Milliseconds since 1970; null: until it is revoked. */
  expiry(approval: Approval): number | null;
  /** Files that mean nothing any more. */
  stale(): readonly { readonly path: string; readonly reason: 'expired' | 'unreadable' }[];
}

export interface ApprovalStoreOptions {
  readonly directory: string;
  readonly now: () => number;
}

const HOUR = 3_600_000;
const LIFETIMES: Readonly<Record<ApprovalState, number>> = {
  pending: 24 * HOUR,
  approved: HOUR,
  denied: 24 * HOUR,
  standing: Number.POSITIVE_INFINITY,
  last: 90 * 24 * HOUR,
};
// A clock that was set back makes the age of an approval unknown: it counts as too old.
const CLOCK_TOLERANCE = 60_000;
// So many calls may wait: a model must not fill the disk, nor the list that a person reads.
const MAX_WAITING = 64;
// In the order in which one is meant, where several have an id: what lets a call run is the news.
const SHOWN: readonly ApprovalState[] = ['standing', 'approved', 'pending', 'denied'];

export function createApprovalStore({ directory, now }: ApprovalStoreOptions): ApprovalStore {
  const pathOf = (id: string, state: ApprovalState): string =>
    join(directory, approvalName(id, state, now()));

  const isFresh = ({ since, state }: Approval): boolean => {
    const age = now() - since;
    return age <= LIFETIMES[state] && (age >= -CLOCK_TOLERANCE || state === 'standing');
  };

  const fresh = (states: readonly ApprovalState[], id?: string): Approval[] =>
    listEntries(directory)
      .filter((entry) => states.includes(entry.state) && (id === undefined || entry.id === id))
      .map(readApproval)
      .filter((approval) => approval !== undefined)
      .filter(isFresh);

  const find = (id: string): Approval => {
    const found = fresh(SHOWN, id).sort((a, b) => SHOWN.indexOf(a.state) - SHOWN.indexOf(b.state))[0];
    if (found !== undefined) return found;
    throw new ToolError(
      'not_found',
      `there is no approval ${quoteOutside(id, 40)}, or it has expired or was used`,
      {
        hint: 'wield approvals list shows what waits; call the tool again to ask anew',
      },
    );
  };

  // Of two who move the same one, the second looks at what became of it.
  const move = (from: Approval, state: ApprovalState): Approval => {
    moveDurably(from.path, pathOf(from.id, state));
    return find(from.id);
  };

  const remember = (record: ApprovalRecord): void => {
    // What was consented to elsewhere waits no longer.
    rmSync(pathOf(idOf(record), 'pending'), { force: true });
    writeApproval(pathOf(toolIdOf(record), 'last'), record);
  };

  const always = (record: ApprovalRecord): void => {
    // It holds for any input, so none is kept.
    const standing = { ...record, input: null, command: null, others: [] };
    if (!writeApproval(pathOf(standingIdOf(record), 'standing'), standing)) throw tooLong(record.tool);
    remember(record);
  };

  const stale: ApprovalStore['stale'] = () => [
    ...listEntries(directory).flatMap((entry) => {
      const approval = readApproval(entry);
      if (approval !== undefined && isFresh(approval)) return [];
      return [{ path: entry.path, reason: approval === undefined ? 'unreadable' : 'expired' } as const];
    }),
    ...leftovers(directory, now()).map((path) => ({ path, reason: 'expired' }) as const),
  ];

  return {
    take(record) {
      return guard('the approval could not be used up, so nothing ran', () => {
        const standing = standingIdOf(record);
        if (fresh(['standing'], standing).length > 0) return { id: standing, by: 'standing' };
        const id = idOf(record);
        for (const approved of fresh(['approved'], id)) {
          if (approved.record.binding !== record.binding) continue;
          // This one rename uses it up, before anything runs: whoever comes second finds nothing (POL-7).
          if (moveDurably(approved.path, pathOf(toolIdOf(record), 'last'))) return { id, by: 'record' };
        }
        return undefined;
      });
    },
    ask(record) {
      guard(`${record.tool} needs approval, and the question could not be recorded`, () => {
        const id = idOf(record);
        const known = fresh(['pending', 'denied'], id);
        if (known.some((other) => other.record.binding !== record.binding)) throw sameId(record.tool);
        if (known.some((other) => other.state === 'denied')) throw refused(record.tool, id);
        if (known.length > 0) return;
        for (const { path, reason } of stale()) if (reason === 'expired') rmSync(path, { force: true });
        if (fresh(['pending', 'denied']).length >= MAX_WAITING) throw tooMany(record.tool);
        if (!writeApproval(pathOf(id, 'pending'), record)) throw tooLong(record.tool);
      });
    },
    always: (record) =>
      guard('the standing approval could not be recorded, so nothing ran', () => always(record)),
    remember,
    changes(record) {
      const [last] = fresh(['last'], toolIdOf(record));
      if (last === undefined) return undefined;
      const lines = lineDiff(describeForDiff(last.record), describeForDiff(record));
      return lines.length === 0 ? undefined : { since: new Date(last.since).toISOString(), lines };
    },
    list: () => fresh(SHOWN).sort((a, b) => a.since - b.since),
    find,
    approve: (id, forAlways) =>
      guard('the approval could not be recorded', () => {
        const found = find(id);
        if (found.state === 'standing') return found;
        if (!forAlways) return found.state === 'approved' ? found : move(found, 'approved');
        always(found.record);
        // The question is answered. A crash before this leaves it open, with the answer in force.
        rmSync(found.path, { force: true });
        return find(standingIdOf(found.record));
      }),
    deny: (id) =>
      guard('the refusal could not be recorded', () => {
        const found = find(id);
        if (found.state === 'standing') rmSync(found.path);
        else if (found.state !== 'denied') return move(found, 'denied');
        return found;
      }),
    expiry: ({ since, state }) => (Number.isFinite(LIFETIMES[state]) ? since + LIFETIMES[state] : null),
    stale,
  };
}

// Temporary files of a process that was killed while it wrote.
function leftovers(directory: string, now: number): string[] {
  if (statSync(directory, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(directory)
    .filter((name) => /^\.[0-9a-f]+\.tmp$/.test(name))
    .map((name) => join(directory, name))
    .filter((path) => Math.abs(now - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now)) > HOUR);
}

// A state directory that is full, read-only or not ours alone refuses: consent that is not on disk is none.
function guard<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (isToolError(error)) throw error;
    throw new ToolError('io', `${what}: ${(error as Error).message}`, {
      hint: 'make the state directory (~/.wield, or WIELD_HOME) writable, and call again',
      cause: error,
    });
  }
}

function refused(tool: string, id: string): ToolError {
  return new ToolError('denied', `${tool} was not run: a person refused this call`, {
    hint: `do not repeat it; a person can still allow it: wield approvals approve ${id}`,
    data: { id },
  });
}

function sameId(tool: string): ToolError {
  return new ToolError('conflict', `${tool} needs approval, and another call has the same id`, {
    hint: 'change the input a little, and call again',
  });
}

function tooMany(tool: string): ToolError {
  return new ToolError(
    'needs_approval',
    `${tool} needs approval, and ${MAX_WAITING} calls wait for it already`,
    {
      hint: 'a person must look at them first: wield approvals list',
    },
  );
}

function tooLong(tool: string): ToolError {
  return new ToolError(
    'needs_approval',
    `${tool} needs approval, and its input is too long to be kept for it`,
    {
      hint: 'pass a file and its path instead, or call it at a terminal',
    },
  );
}
