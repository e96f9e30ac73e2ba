// Suspended programs in files: sealed with the key of the state, claimed by one process at a time (COD-10).

import { closeSync, fsyncSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { World } from '../../core/world.js';
import { digestKeyed, digestParts, loadCrypto } from '../../files/digest.js';
import { withLock } from '../../files/lock.js';
import { isAlive, startTime } from '../../files/process-identity.js';
import { readStateFile } from '../../files/read.js';
import { checkStateDirectory, toFileError } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import type { JournalEvent } from './journal.js';

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
  /** Returns a program and the events since it was saved. Throws `not_found`, `busy` or `integrity`. */
  claim(id: string, owner: Pick<ProgramOwner, 'principal' | 'workdir'>): Promise<ClaimedProgram>;
  /** Returns the id of the suspended program with this code, if there is one. */
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

export interface ProgramOwner {
  readonly principal: string;
  readonly workdir: string;
  readonly source: string;
}

const NAME = /^(p_[0-9a-f]{16})-([0-9a-f]{16})\.json$/;
const MAX_BYTES = 256 * 1024 * 1024;
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
  const entries = (): { id: string; code: string; path: string }[] => {
    if (!checkStateDirectory(directory)) return [];
    return readdirSync(directory).flatMap((name) => {
      const [, id, code] = NAME.exec(name) ?? [];
      return id === undefined ? [] : [{ id, code: code!, path: join(directory, name) }];
    });
  };
  const journalOf = (id: string): string => join(directory, `${id}.journal`);
  const claimOf = (id: string): string => join(directory, `${id}.claim`);
  const seal = (...parts: readonly string[]): string => digestKeyed(key(), ['program', ...parts]);
  const read = (path: string): SuspendedProgram | undefined => {
    const text = readStateFile(path, MAX_BYTES);
    if (text === undefined) return undefined;
    const at = text.indexOf('\n');
    if (text.slice(0, at) !== seal(text.slice(at + 1))) throw damaged(path);
    return JSON.parse(text.slice(at + 1)) as SuspendedProgram;
  };
  const remove = (id: string): void => {
    for (const entry of entries()) if (entry.id === id) rmSync(entry.path, { force: true });
    for (const path of [journalOf(id), claimOf(id)]) rmSync(path, { force: true });
  };
  const isFresh = ({ saved }: SuspendedProgram): boolean => Math.abs(now() - saved) <= LIFETIME_MS;
  const removeExpired = (): void => {
    for (const { id, path } of entries()) {
      const program = readOrNothing(() => read(path));
      if ((program === undefined || !isFresh(program)) && !isClaimed(claimOf(id))) remove(id);
    }
  };

  return {
    remove,
    release: (id) => rmSync(claimOf(id), { force: true }),
    save(program) {
      removeExpired();
      const known = entries();
      const path = join(directory, `${program.id}-${codeOf(program)}.json`);
      if (known.length >= MAX_PROGRAMS && !known.some(({ id }) => id === program.id)) throw tooMany();
      const text = JSON.stringify(program);
      // Before others can see it.
      claim(claimOf(program.id));
      writeFileAtomic(path, `${seal(text)}\n${text}`);
      // Its events are in the file now.
      rmSync(journalOf(program.id), { force: true });
    },
    append(id, event) {
      const text = JSON.stringify(event);
      appendDurably(journalOf(id), `${seal(id, text)} ${text}\n`);
    },
    async claim(id, { principal, workdir }) {
      if (!checkStateDirectory(directory)) throw notFound(id);
      const context = { world, signal: new AbortController().signal, doing: 'resuming a program' };
      return withLock(join(directory, 'claims.lock'), context, async () => {
        // What is read while another process runs it may have run already.
        const isRunning = isClaimed(claimOf(id));
        const path = entries().find((entry) => entry.id === id)?.path;
        const program = path === undefined ? undefined : read(path);
        const isOwn = program?.principal === principal && program.workdir === workdir;
        if (program === undefined || !isOwn || !isFresh(program)) throw notFound(id);
        if (isRunning || !claim(claimOf(id))) throw busy(id);
        return { program, later: readJournal(journalOf(id), (text) => seal(id, text)) };
      });
    },
    find: (owner) => entries().find(({ code, id }) => code === codeOf(owner) && !isClaimed(claimOf(id)))?.id,
    list: () =>
      entries()
        .flatMap(({ path }) => readOrNothing(() => read(path)) ?? [])
        .filter(isFresh)
        .sort((a, b) => a.saved - b.saved),
  };
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

// A claim names the process that runs the program; that of a dead process does not count.
function isClaimed(path: string): boolean {
  const [pid, started] = (readOrNothing(() => readStateFile(path, 1024)) ?? '').split(' ').map(Number);
  return pid !== undefined && pid > 0 && isAlive(pid, started ?? 0);
}

// Claims of others are replaced by the holder of the lock only.
function claim(path: string): boolean {
  const own = `${process.pid} ${startTime(process.pid) ?? 0} ${loadCrypto().randomBytes(8).toString('hex')}`;
  if (isClaimed(path)) return false;
  rmSync(path, { force: true });
  try {
    writeFileSync(path, own, { flag: 'wx', mode: 0o600 });
  } catch {
    return false;
  }
  return true;
}

function appendDurably(path: string, text: string): void {
  try {
    const descriptor = openSync(path, 'a', 0o600);
    try {
      writeSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw toFileError(error, 'write', path);
  }
}

function readJournal(path: string, sealOf: (text: string) => string): JournalEvent[] {
  const lines = (readStateFile(path, MAX_BYTES) ?? '').split('\n');
  // A line without an end was being written when its process was killed; nothing had happened yet.
  return lines.slice(0, -1).map((line) => {
    const at = line.indexOf(' ');
    if (line.slice(0, at) !== sealOf(line.slice(at + 1))) throw damaged(path);
    return JSON.parse(line.slice(at + 1)) as JournalEvent;
  });
}

function notFound(id: string): ToolError {
  return new ToolError('not_found', `no suspended program ${quoteOutside(id, 40)}: unknown, ended or expired`, {
    hint: 'wield audit shows which of its calls ran; programs wait for 8 days, and belong to the caller that started them',
  });
}

function busy(id: string): ToolError {
  return new ToolError('busy', `${id} is already running`, { hint: 'wait for its result, or for its next question' });
}

function damaged(path: string): ToolError {
  return new ToolError('integrity', `${path} was changed since wield wrote it, so the program was not resumed`, {
    hint: `see which calls ran (wield audit), then remove it: rm ${path}`,
  });
}

function tooMany(): ToolError {
  return new ToolError('needs_approval', `${MAX_PROGRAMS} programs are already waiting for approvals`, {
    hint: 'a person must answer them first: wield approvals list',
  });
}
