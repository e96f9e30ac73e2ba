// The store of approvals: pending calls, calls that may run once, refused calls and standing approvals (POL-7).

import { type ApprovalRecord, type Approvals, approveCommand, type StoredConsent } from '../core/approval.js';
import { isToolError, systemReason, ToolError } from '../core/error.js';
import { readIdentity } from '../core/name.js';
import type { Awaitable } from '../core/store.js';
import { quoteOutside } from '../core/text.js';
import { lineDiff } from '../files/diff.js';
import { loadCrypto } from '../files/digest.js';
import { withLock } from '../files/lock.js';
import { readStateFile } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
import {
  type ApprovalDirectoryOptions,
  type ApprovalStorage,
  createApprovalDirectory,
  LIFETIMES,
  type StaleFile,
} from './approval-directory.js';
import type { Answer, Approval, ApprovalState } from './approval-file.js';
import { describeForDiff } from './approval-text.js';
import { idOf, standingIdOf, toolIdOf } from './binding.js';

export type { Approval, ApprovalState } from './approval-file.js';

/** The user who answers, if they are logged in. */
export type AnsweredBy = string | undefined;

/** Approvals as people see them. */
export interface ApprovalAdmin {
  /** Returns all approvals in force, oldest first. */
  list(): Awaitable<readonly Approval[]>;
  /** Throws `not_found`. */
  find(id: string): Awaitable<Approval>;
  /** Lets a call run once, or the present version of its tool always. */
  approve(id: string, always: boolean, by?: AnsweredBy): Awaitable<Approval>;
  /** Refuses a pending call, withdraws an approval or revokes a standing one. The caller is told the reason. */
  deny(id: string, reason?: string, by?: AnsweredBy): Awaitable<Approval>;
  /** Milliseconds since 1970; null: until it is revoked. */
  expiry(approval: Approval): number | null;
  /** Returns stored files that have expired or cannot be read. */
  stale(): Awaitable<readonly StaleFile[]>;
}

/** The methods of a store that nothing has to be waited for. */
type Synchronous<T> = {
  readonly [K in keyof T]: T[K] extends (...given: infer G) => infer R ? (...given: G) => Awaited<R> : T[K];
};

/** Approvals on this machine. */
export type ApprovalStore = Synchronous<Approvals & ApprovalAdmin>;

// Of a user, and of all callers without one: bounds what a model can write to the disk, and the list that a person reads.
const MAX_WAITING = 64;
const MAX_REFUSALS = 64;
const MAX_NOTE = 1000;
const KEY = /^[0-9a-f]{64}$/;
// Several approvals can have one id: the first of these states counts.
const SHOWN: readonly ApprovalState[] = ['standing', 'approved', 'pending', 'denied'];

/** Approvals on this machine, of which answers wait for each other (STA-6). */
export type LocalApprovals = Omit<ApprovalStore, 'approve' | 'deny'> & ApprovalAdmin;

export function createApprovalStore(options: ApprovalDirectoryOptions): LocalApprovals {
  const { directory } = options;
  let key: string | undefined;
  const store = createApprovals(createApprovalDirectory(options), () => {
    key ??= withIoError('the key of approvals could not be stored, so nothing ran', () => loadKey(directory));
    return key;
  });
  const locked = async (answer: () => Approval): Promise<Approval> => {
    return withLock(`${directory}.lock`, { doing: 'answering an approval' }, async () => answer());
  };
  return {
    ...store,
    approve: (id, always, by) => locked(() => store.approve(id, always, by)),
    deny: (id, reason, by) => locked(() => store.deny(id, reason, by)),
  };
}

export function createApprovals(storage: ApprovalStorage, key: () => string): ApprovalStore {
  const find = (id: string): Approval => {
    const found = storage.find(SHOWN, id).sort((a, b) => SHOWN.indexOf(a.state) - SHOWN.indexOf(b.state))[0];
    if (found === undefined) throw noApproval(id);
    return found;
  };
  const move = (from: Approval, state: ApprovalState, answer: Answer): Approval => {
    if (!storage.move(from, from.id, state, answer)) throw noApproval(from.id);
    // A caller may have used the approval already.
    return storage.find([state], from.id)[0] ?? { ...from, ...answer, state };
  };
  const remember = (record: ApprovalRecord): void => {
    storage.write(toolIdOf(record), 'last', record);
    // Last: after a crash before it, the question can be answered again.
    storage.remove(idOf(record), 'pending');
  };
  const always = (record: ApprovalRecord, by?: AnsweredBy): void => {
    // Valid for any input, so none is stored.
    const standing = { ...record, input: null, command: null, others: [] };
    const id = standingIdOf(record);
    const isGiven = storage.find(['standing'], id).length > 0;
    if (!isGiven && !storage.write(id, 'standing', standing, { by })) throw tooLong(record.tool);
    remember(record);
  };

  return {
    key,
    take: (record) => withIoError('the approval could not be used, so nothing ran', () => take(storage, record)),
    ask: (record, flag) =>
      withIoError(`${record.tool} needs approval, and the question could not be recorded`, () =>
        recordQuestion(storage, record, flag),
      ),
    decisionOn: (record) => decisionOn(storage, record),
    isPending: (id) => storage.find(['pending'], id).length > 0,
    always: (record) =>
      withIoError('the standing approval could not be recorded, so nothing ran', () => always(record)),
    remember,
    changes(record) {
      const [last] = storage.find(['last'], toolIdOf(record));
      if (last === undefined) return undefined;
      const lines = lineDiff(describeForDiff(last.record), describeForDiff(record));
      const programs = comparePrograms(last.record.programs, record.programs);
      return lines.length === 0 ? undefined : { since: new Date(last.since).toISOString(), lines, programs };
    },
    list: () => storage.find(SHOWN).sort((a, b) => a.since - b.since),
    find,
    approve: (id, forAlways, by) =>
      withIoError('the approval could not be recorded', () => {
        const found = find(id);
        if (found.state === 'standing') return found;
        if (!forAlways) return found.state === 'approved' ? found : move(found, 'approved', { by });
        always(found.record, by);
        // After a crash before this line the call is still listed as pending; the standing approval is in force.
        storage.drop(found.path);
        return find(standingIdOf(found.record));
      }),
    deny: (id, reason, by) =>
      withIoError('the refusal could not be recorded', () => {
        const found = find(id);
        if (found.state !== 'standing')
          return found.state === 'denied' ? found : move(found, 'denied', { note: reason?.slice(0, MAX_NOTE), by });
        // All of them: two processes may have given it at the same time.
        for (const { path } of storage.find(['standing'], id)) storage.drop(path);
        return found;
      }),
    expiry: expiryOf,
    stale: storage.stale,
  };
}

/** Milliseconds since 1970; null: until it is revoked. */
export function expiryOf({ since, state }: Approval): number | null {
  return Number.isFinite(LIFETIMES[state]) ? since + LIFETIMES[state] : null;
}

function take(storage: ApprovalStorage, record: ApprovalRecord): StoredConsent | undefined {
  const standing = standingIdOf(record);
  for (const { since, by } of storage.find(['standing'], standing))
    return { id: standing, by: 'standing', at: new Date(since).toISOString(), ...toApprovedBy(by) };
  const id = idOf(record);
  for (const approved of storage.find(['approved'], id)) {
    if (approved.record.binding !== record.binding) continue;
    // This rename uses the approval up before anything runs; a second process finds nothing (POL-7).
    const at = new Date(approved.since).toISOString();
    if (storage.move(approved, toolIdOf(record), 'last')) return { id, by: 'record', at, ...toApprovedBy(approved.by) };
  }
  return undefined;
}

function decisionOn(storage: ApprovalStorage, record: ApprovalRecord): 'approved' | 'denied' | undefined {
  if (storage.find(['standing'], standingIdOf(record)).length > 0) return 'approved';
  const known = storage.find(['approved', 'denied'], idOf(record));
  const states = known.filter((other) => other.record.binding === record.binding).map(({ state }) => state);
  return states.includes('approved') ? 'approved' : states.includes('denied') ? 'denied' : undefined;
}

function toApprovedBy(by: AnsweredBy): Pick<StoredConsent, 'approvedBy'> {
  return by === undefined ? {} : { approvedBy: by };
}

// Returns whether it is new.
function recordQuestion(storage: ApprovalStorage, record: ApprovalRecord, flag = ''): boolean {
  const id = idOf(record);
  const known = storage.find(['pending', 'denied'], id);
  if (known.some((other) => other.record.binding !== record.binding)) throw sameId(record.tool);
  const denied = known.find((other) => other.state === 'denied');
  if (denied !== undefined) throw refused(record.tool, denied, flag);
  if (known.length > 0) return false;
  for (const { path, reason } of storage.stale()) if (reason === 'expired') storage.drop(path);
  const user = readIdentity(record.principal);
  const own = storage.find(['pending', 'denied']).filter((other) => readIdentity(other.record.principal) === user);
  if (own.filter(({ state }) => state === 'pending').length >= MAX_WAITING) throw tooMany(record.tool, user, flag);
  // A refusal needs no answer, so the oldest gives way.
  const refusals = own.filter(({ state }) => state === 'denied').sort((a, b) => b.since - a.since);
  for (const { path } of refusals.slice(MAX_REFUSALS)) storage.drop(path);
  if (!storage.write(id, 'pending', record)) throw tooLong(record.tool);
  return true;
}

function comparePrograms(before: readonly string[], now: readonly string[]): string[] {
  return [
    ...before.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
  ];
}

// Beside the directory, which contains approvals only.
function loadKey(directory: string): string {
  const file = `${directory}.key`;
  const known = readStateFile(file, 1024);
  if (known !== undefined && KEY.test(known)) return known;
  if (known !== undefined) removeFile(file);
  writeFileAtomic(file, loadCrypto().randomBytes(32).toString('hex'), { keepExisting: true });
  return readStateFile(file, 1024)!;
}

// Consent that could not be written to disk does not count.
function withIoError<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (isToolError(error)) throw error;
    throw new ToolError('io', `${what}: ${systemReason(error)}`, {
      hint: 'make the state directory (~/.wield, or WIELD_HOME) writable, and call again',
      cause: error,
    });
  }
}

/** The error for an approval that does not exist. */
export function noApproval(id: string): ToolError {
  return new ToolError('not_found', `no approval ${quoteOutside(id, 40)}: unknown, expired or already used`, {
    hint: 'wield approvals list shows the ids (of a server: with --server URL, of a fleet: with --fleet URL); call the tool again to be asked again',
  });
}

function refused(tool: string, { id, since, note, by }: Approval, flag: string): ToolError {
  const why = note === undefined ? '' : `: ${quoteOutside(note, MAX_NOTE)}`;
  return new ToolError('denied', `${tool} was not run: a person refused this call${why}`, {
    hint: `do not repeat it; a person can still allow it: ${approveCommand(id, flag)}`,
    data: { id, at: new Date(since).toISOString(), ...(by === undefined ? {} : { by }) },
  });
}

function sameId(tool: string): ToolError {
  return new ToolError('conflict', `${tool} needs approval, and another call has the same id`, {
    hint: 'change the input slightly, and call again',
  });
}

function tooMany(tool: string, user: string | undefined, flag: string): ToolError {
  const whose = user === undefined ? 'calls' : 'of your calls';
  return new ToolError('needs_approval', `${tool} needs approval, and ${MAX_WAITING} ${whose} are already pending`, {
    hint: `a person must answer them first: wield approvals list${flag}`,
  });
}

function tooLong(tool: string): ToolError {
  return new ToolError('needs_approval', `${tool} needs approval, and its input is too long to be stored`, {
    hint: 'pass the path of a file instead, or call it at a terminal',
  });
}
