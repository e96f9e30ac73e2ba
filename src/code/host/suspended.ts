// Suspended programs in files: sealed with the key of the state, claimed by one process at a time (COD-10).

import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { World } from '../../core/world.js';
import { digestParts, loadCrypto } from '../../files/digest.js';
import { withLock } from '../../files/lock.js';
import { checkStateDirectory } from '../../files/state.js';
import { type Answer, createAnswers, type KeptAnswer, type ProgramOwner } from './answers.js';
import { claim, holderOf, releaseOnExit } from './claim.js';
import type { JournalEvent } from './journal.js';
import { createSealed } from './sealed.js';

/** Everything that another process needs to go on. */
export interface SuspendedProgram {
  readonly id: string;
  /** Kind and name of the caller, who alone can resume it. */
  readonly principal: string;
  readonly workdir: string;
  readonly source: string;
  readonly seed: number;
  /** Milliseconds since 1970. */
  readonly started: number;
  readonly saved: number;
  readonly engine: string;
  /** State of the engine after the events. */
  readonly snapshot: string;
  readonly events: readonly JournalEvent[];
  readonly logs: readonly string[];
  /** The calls that it waits for. */
  readonly waiting: readonly WaitingCall[];
}

export interface WaitingCall {
  readonly tool: string;
  /** Id of the approval; undefined while it is asked for. */
  readonly approval?: string;
}

export interface SuspendedPrograms {
  save(program: SuspendedProgram): void;
  /** Appends an event; it is on the disk when this returns. */
  append(id: string, event: JournalEvent): void;
  /** Keeps the answer of a program instead of the program. */
  end(program: ProgramOwner & { readonly id: string }, answer: Answer): void;
  /** Returns a program and the events since it was saved, or its answer. Throws `not_found`, `busy` or `integrity`. */
  claim(id: string, owner: Omit<ProgramOwner, 'source'>): Promise<ClaimedProgram | KeptAnswer>;
  /** Returns the id of the program with this code that is suspended, or whose answer may have been lost. */
  find(owner: ProgramOwner): string | undefined;
  release(id: string): void;
  remove(id: string): void;
  /** Returns all suspended programs, oldest first. */
  list(): readonly SuspendedProgram[];
}

export interface ClaimedProgram {
  readonly program: SuspendedProgram;
  readonly later: readonly JournalEvent[];
}

interface Entry {
  readonly id: string;
  /** Identifies owner and code. */
  readonly code: string;
  readonly path: string;
}

const NAME = /^(p_[0-9a-f]{16})-([0-9a-f]{16})\.json$/;
const MAX_PROGRAMS = 64;
// An approval can be given for a week, and used for a day.
const LIFETIME_MS = 8 * 24 * 3_600_000;

export function newProgramId(): string {
  return `p_${loadCrypto().randomBytes(8).toString('hex')}`;
}

/** `key` is the key of the state; a function, because it is created on first use. */
export function createSuspendedPrograms(
  directory: string,
  key: () => string,
  world: Pick<World, 'now' | 'monotonic'>,
): SuspendedPrograms {
  const { now } = world;
  const sealed = createSealed(key);
  const { journalOf, claimOf, removeFiles, release, remove } = filesOf(directory);
  const answers = createAnswers({ directory, sealed, now, claimOf });
  const read = ({ path }: Entry) => sealed.read<SuspendedProgram>(path);
  const isFresh = ({ saved }: SuspendedProgram): boolean => Math.abs(now() - saved) <= LIFETIME_MS;
  const runs = (id: string): boolean => holderOf(claimOf(id)) === 'alive';
  const removeExpired = (): void => {
    for (const entry of readEntries(directory)) {
      const program = readOrNothing(() => read(entry));
      if ((program === undefined || !isFresh(program)) && !runs(entry.id)) remove(entry.id);
    }
  };
  // A process may have been killed after it wrote the answer, before it removed the program.
  const suspended = (): Entry[] => {
    const ended = answers.ids();
    return readEntries(directory).filter(({ id }) => !ended.has(id));
  };

  return {
    remove,
    release,
    save(program) {
      removeExpired();
      const known = suspended();
      if (known.length >= MAX_PROGRAMS && !known.some(({ id }) => id === program.id)) throw tooMany();
      // Before others can see it. This process has it already if it was saved before.
      if (!claim(claimOf(program.id)) && !runs(program.id)) throw busy(program.id);
      sealed.write(join(directory, `${program.id}-${codeOf(program)}.json`), program);
      // Its events are in the file now.
      rmSync(journalOf(program.id), { force: true });
    },
    append: (id, event) => sealed.append(journalOf(id), id, event),
    end(program, answer) {
      answers.save({ ...program, code: codeOf(program) }, answer);
      // The claim remains if this process is killed, so that others know that it may not have delivered the answer.
      releaseOnExit(claimOf(program.id));
      removeFiles(program.id);
    },
    async claim(id, { principal, workdir }) {
      if (!checkStateDirectory(directory)) throw notFound(id);
      const context = { world, signal: new AbortController().signal, doing: 'resuming a program' };
      return withLock(join(directory, 'claims.lock'), context, async () => {
        // What is read while another process runs it may have run already.
        const isRunning = runs(id);
        const ended = answers.find(id, { principal, workdir });
        if (ended !== undefined) {
          if (readOrNothing(() => claim(claimOf(id)))) releaseOnExit(claimOf(id));
          removeFiles(id);
          return ended;
        }
        const entry = suspended().find((one) => one.id === id);
        const program = entry && read(entry);
        const isOwn = program?.principal === principal && program.workdir === workdir;
        if (program === undefined || !isOwn || !isFresh(program)) throw notFound(id);
        if (isRunning || !claim(claimOf(id))) throw busy(id);
        return { program, later: sealed.readLines<JournalEvent>(journalOf(id), id) };
      });
    },
    find(owner) {
      const code = codeOf(owner);
      const isResumable = (entry: Entry): boolean => {
        const program = entry.code !== code || runs(entry.id) ? undefined : read(entry);
        return program !== undefined && isFresh(program);
      };
      return suspended().find(isResumable)?.id ?? answers.findLost(code);
    },
    list: () =>
      suspended()
        .flatMap((entry) => readOrNothing(() => read(entry)) ?? [])
        .filter(isFresh)
        .sort((a, b) => a.saved - b.saved),
  };
}

function filesOf(directory: string) {
  const journalOf = (id: string): string => join(directory, `${id}.journal`);
  const claimOf = (id: string): string => join(directory, `${id}.claim`);
  const release = (id: string): void => rmSync(claimOf(id), { force: true });
  const removeFiles = (id: string): void => {
    for (const entry of readEntries(directory)) if (entry.id === id) rmSync(entry.path, { force: true });
    rmSync(journalOf(id), { force: true });
  };
  const remove = (id: string): void => {
    removeFiles(id);
    release(id);
  };
  return { journalOf, claimOf, release, removeFiles, remove };
}

function readEntries(directory: string): Entry[] {
  if (!checkStateDirectory(directory)) return [];
  return readdirSync(directory).flatMap((name) => {
    const [, id, code] = NAME.exec(name) ?? [];
    return id === undefined ? [] : [{ id, code: code!, path: join(directory, name) }];
  });
}

function codeOf({ principal, workdir, source }: ProgramOwner): string {
  return digestParts(['program', principal, workdir, source]).slice(0, 16);
}

function readOrNothing<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

function notFound(id: string): ToolError {
  return new ToolError('not_found', `no suspended program ${quoteOutside(id, 40)}: unknown or expired`, {
    hint: 'wield audit shows which of its calls ran; programs wait for 8 days, answers are kept for a day, and both belong to their caller and workdir',
  });
}

function busy(id: string): ToolError {
  return new ToolError('busy', `${id} is already running`, { hint: 'wait for its result, or for its next question' });
}

function tooMany(): ToolError {
  return new ToolError('needs_approval', `${MAX_PROGRAMS} programs are already waiting for approvals`, {
    hint: 'a person must answer them first: wield approvals list',
  });
}
