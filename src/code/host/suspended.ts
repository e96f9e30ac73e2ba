// Suspended programs in files: sealed with the key of the state, claimed by one process at a time (COD-10).

import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { orNothing, ToolError } from '../../core/error.js';
import { isLonger } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { digestParts, loadCrypto } from '../../files/digest.js';
import { withLock } from '../../files/lock.js';
import { removeFile } from '../../files/remove.js';
import { checkStateDirectory } from '../../files/state.js';
import { type Answer, createAnswers, type KeptAnswer, type ProgramOwner } from './answers.js';
import { claim, giveUp, holderOf, releaseOnExit } from './claim.js';
import type { JournalEvent } from './journal.js';
import { findSurplus, journalOf, listProgramFiles, type ProgramFile, sizeOf } from './program-files.js';
import { createSealed } from './sealed.js';

/** Everything that another process needs to go on. */
export interface SuspendedProgram {
  /** The id that resumes it. */
  readonly id: string;
  /** Kind and name of the caller, who alone can resume it. */
  readonly principal: string;
  /** The directory that it was started in. */
  readonly workdir: string;
  /** Its code. */
  readonly source: string;
  /** The seed of its random numbers. */
  readonly seed: number;
  /** Milliseconds since 1970. */
  readonly started: number;
  /** When it was suspended, in milliseconds since 1970. */
  readonly saved: number;
  /** The version of the engine that it runs in. */
  readonly engine: string;
  /** State of the engine after the events; empty if it is too large, and the program is repeated from the events. */
  readonly snapshot: string;
  /** What came into it from outside, in order. */
  readonly events: readonly JournalEvent[];
  /** What it logged. */
  readonly logs: readonly string[];
  /** The calls that it waits for. */
  readonly waiting: readonly WaitingCall[];
}

export interface WaitingCall {
  readonly tool: string;
  /** Id of the approval; undefined while it is asked for. */
  readonly approval?: string;
}

export type SuspendedPrograms = ReturnType<typeof createSuspendedPrograms>;

export interface ClaimedProgram {
  readonly program: SuspendedProgram;
  readonly later: readonly JournalEvent[];
}

/** What is kept of one program: its code, its calls and their results. */
const MAX_BYTES = 8 * 1024 * 1024;
// An approval can be given for a week, and used for a day.
const LIFETIME_MS = 8 * 24 * 3_600_000;

export function newProgramId(): string {
  return `p_${loadCrypto().randomBytes(8).toString('hex')}`;
}

/** `key` is the key of the state; a function, because it is created on first use. */
export function createSuspendedPrograms(directory: string, key: () => string, { now }: Pick<World, 'now'>) {
  const sealed = createSealed(key);
  const journal = (id: string): string => journalOf(directory, id);
  const claimOf = (id: string): string => join(directory, `${id}.claim`);
  const programs = (): ProgramFile[] => listProgramFiles(directory).filter(({ isAnswer }) => !isAnswer);
  const release = (id: string): void => removeFile(claimOf(id));
  const removeFiles = (id: string): void => {
    for (const entry of programs()) if (entry.id === id) removeFile(entry.path);
    removeFile(journal(id));
  };
  const remove = (id: string): void => {
    removeFiles(id);
    release(id);
  };
  const answers = createAnswers({ directory, sealed, now, claimOf });
  const read = ({ path }: ProgramFile) => sealed.read<SuspendedProgram>(path);
  const isFresh = ({ saved }: Pick<ProgramFile, 'saved'>): boolean => Math.abs(now() - saved) <= LIFETIME_MS;
  const runs = (id: string): boolean => holderOf(claimOf(id)) === 'alive';
  const makeRoom = (): readonly string[] => {
    const idle = programs().filter(({ id }) => !runs(id));
    const fresh = idle.filter(isFresh);
    const surplus = findSurplus(fresh);
    for (const { id } of [...idle.filter((entry) => !isFresh(entry)), ...surplus]) remove(id);
    return surplus.map(({ id }) => id);
  };
  // A process may have been killed after it wrote the answer, before it removed the program.
  const suspended = (): ProgramFile[] => {
    const ended = answers.ids();
    return programs().filter(({ id }) => !ended.has(id));
  };

  return {
    remove,
    release,
    /** Returns the ids of older programs that were removed to make room. Throws `too_large`. */
    save(program: SuspendedProgram): readonly string[] {
      const path = join(directory, `${program.id}-${ownerOf(program)}-${codeOf(program)}.json`);
      if (isLonger(program.events, MAX_BYTES)) throw tooLarge();
      const text = JSON.stringify(program);
      if (text.length - program.snapshot.length > MAX_BYTES) throw tooLarge();
      // Before others can see it. This process has it already if it was saved before.
      if (!claim(claimOf(program.id)) && !runs(program.id)) throw busy(program.id);
      const removed = makeRoom();
      sealed.write(path, text);
      // The clock of the system may be another one.
      utimesSync(path, program.saved / 1000, program.saved / 1000);
      // Its events are in the file now.
      removeFile(journal(program.id));
      return removed;
    },
    /** Appends an event; it is on the disk when this returns. Throws `too_large`. */
    append(id: string, event: JournalEvent): void {
      const text = JSON.stringify(event);
      const path = journal(id);
      if (sizeOf(path) + text.length > MAX_BYTES && !('started' in event)) throw tooLarge();
      sealed.append(path, id, text);
    },
    /** Keeps the answer of a program instead of the program. One that was cancelled is not delivered. */
    end(program: ProgramOwner & { readonly id: string }, answer: Answer): void {
      answers.save({ ...program, owner: ownerOf(program), code: codeOf(program) }, answer);
      // The claim remains if this process is killed, so that others know that it may not have delivered the answer.
      if (answer.error?.code === 'cancelled') giveUp(claimOf(program.id));
      else releaseOnExit(claimOf(program.id));
      removeFiles(program.id);
    },
    /** Returns a program and the events since it was saved, or its answer. Throws `not_found`, `busy` or `integrity`. */
    async claim(
      id: string,
      { principal, workdir }: Omit<ProgramOwner, 'source'>,
    ): Promise<ClaimedProgram | KeptAnswer> {
      if (!checkStateDirectory(directory)) throw notFound(id);
      return withLock(join(directory, 'claims.lock'), { doing: 'resuming a program' }, async () => {
        // What is read while another process runs it may have run already.
        const isRunning = runs(id);
        const ended = answers.find(id, { principal, workdir });
        if (ended !== undefined) {
          if (orNothing(() => claim(claimOf(id)))) releaseOnExit(claimOf(id));
          removeFiles(id);
          return ended;
        }
        const entry = suspended().find((one) => one.id === id);
        const program = entry && read(entry);
        const isOwn = program?.principal === principal && program.workdir === workdir;
        // The time of its file may be that of a copy.
        if (program !== undefined && !isFresh(program) && !isRunning) remove(id);
        if (program === undefined || !isOwn || !isFresh(program)) throw notFound(id);
        if (isRunning || !claim(claimOf(id))) throw busy(id);
        return { program, later: sealed.readLines<JournalEvent>(journal(id), id) };
      });
    },
    /** Returns the id of the program with this code that is suspended, or whose answer may have been lost. Throws `busy`. */
    find(owner: ProgramOwner): string | undefined {
      const code = codeOf(owner);
      const same = suspended().filter((entry) => entry.code === code && isFresh(entry));
      const idle = same.find(({ id }) => !runs(id));
      // COD-16: the same code is not a second program while the first one runs.
      if (idle === undefined && same.length > 0) throw busy(same[0]!.id);
      return idle?.id ?? answers.findLost(code);
    },
    /** Returns all suspended programs, oldest first. */
    list: (): readonly SuspendedProgram[] =>
      suspended()
        .flatMap((entry) => orNothing(() => read(entry)) ?? [])
        .filter(isFresh)
        .sort((a, b) => a.saved - b.saved),
  };
}

function ownerOf({ principal }: Pick<ProgramOwner, 'principal'>): string {
  return digestParts(['caller of programs', principal]).slice(0, 16);
}

function codeOf({ principal, workdir, source }: ProgramOwner): string {
  return digestParts(['program', principal, workdir, source]).slice(0, 16);
}

function notFound(id: string): ToolError {
  return new ToolError('not_found', `no suspended program ${quoteOutside(id, 40)}: unknown or expired`, {
    hint: 'wield audit shows which of its calls ran; programs wait for 8 days (the 64 newest of a caller), answers are kept for a day, and both belong to their caller and workdir',
  });
}

function busy(id: string): ToolError {
  return new ToolError('busy', `the program is already running, as ${id}`, {
    hint: `wait for its result, or for its next question; {"resume":"${id}"} gives its answer when it has ended`,
    data: { resume: id },
  });
}

function tooLarge(): ToolError {
  return new ToolError(
    'too_large',
    `the program cannot wait for approval: its calls and their results have more than ${formatBytes(MAX_BYTES)}`,
    { hint: 'keep large results as handles, and read parts of them with query() or page()' },
  );
}
