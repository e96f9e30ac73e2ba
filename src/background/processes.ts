// Processes that go on after their call: each belongs to a session, and ends with it (BGR).

import { deferred, inBackground, onAbort } from '../core/async.js';
import { ToolError } from '../core/error.js';
import type { CallScope } from '../core/executor.js';
import type { ProcessPlan } from '../core/plan.js';
import type { Output } from '../core/result.js';
import type { World } from '../core/snapshot.js';
import { cancelled, settlesWithin } from '../core/time-limit.js';
import { loadCrypto } from '../files/digest.js';
import { basePath, isStopRequested, readProcesses, removeProcess } from './files.js';
import { type BackgroundProcess, createEntry } from './process.js';
import { describeStarted } from './text.js';

export interface BackgroundOptions {
  /** Where other processes see them. */
  readonly directory: string;
  /** The session of callers without one. */
  readonly session: string;
  readonly world: World;
  /** Makes sure that they end even if this process is killed: awaited before one is started. */
  readonly guard: () => Promise<void>;
}

export interface BackgroundProcesses {
  /** Runs a plan, and returns when its process has run for a moment; the process goes on. */
  start(plan: ProcessPlan, scope: CallScope, run: (scope: CallScope) => Promise<Output>): Promise<Output>;
  /** Returns those of a session, oldest first. */
  list(session: string | undefined): readonly BackgroundProcess[];
  /** Returns one of a session; undefined if it has none with this id. */
  find(id: string, session: string | undefined): BackgroundProcess | undefined;
  close(): Promise<void>;
}

/** How long a process must run to count as started: one that ends before is the result of its call (BGR-1). */
const FIRST_LOOK_MS = 1000;
// Of all sessions together.
const MAX_PROCESSES = 64;
// Of one session, to be read.
const KEPT_ENDED = 8;
const STOP_POLL_MS = 250;

export function createBackground(options: BackgroundOptions): BackgroundProcesses {
  const { directory, world, guard } = options;
  const entries = new Map<string, BackgroundProcess>();
  /** Functions that end listening to the end of a session. */
  const releases = new Map<string, () => void>();
  let timer: NodeJS.Timeout | undefined;
  const isRunning = ({ isOver }: BackgroundProcess): boolean => !isOver();
  const ofSession = (session = options.session): BackgroundProcess[] =>
    [...entries.values()].filter((entry) => entry.session === session);
  const forget = ({ id, base }: BackgroundProcess): void => {
    entries.delete(id);
    releases.get(id)?.();
    releases.delete(id);
    removeProcess(base);
  };
  const end = (entry: BackgroundProcess, why: string): void =>
    inBackground(
      entry.stop(why).then(() => forget(entry)),
      world.debug,
    );
  // A person can ask for a stop from another process.
  const poll = (): void => {
    const running = [...entries.values()].filter(isRunning);
    for (const { base, stop } of running)
      if (isStopRequested(base)) inBackground(stop('stopped by a person'), world.debug);
    if (running.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const makeRoom = (tool: string, session: string | undefined, most: number): void => {
    const own = ofSession(session);
    const running = own.filter(isRunning).length;
    const isFull = [...entries.values()].filter(isRunning).length >= MAX_PROCESSES;
    if (running >= most || isFull) throw tooMany(tool, isFull ? undefined : own.filter(isRunning));
    for (const ended of own.filter((entry) => entry.isOver()).slice(0, -KEPT_ENDED)) forget(ended);
  };
  const open = (plan: ProcessPlan, scope: CallScope, run: (scope: CallScope) => Promise<Output>): BackgroundProcess => {
    const id = `b_${loadCrypto().randomBytes(6).toString('hex')}`;
    const { session = options.session } = scope.caller;
    const entry = createEntry({ plan, scope, run, id, session, base: basePath(directory, id), world });
    entries.set(id, entry);
    timer ??= setInterval(poll, STOP_POLL_MS).unref();
    return entry;
  };

  return {
    async start(plan, scope, run) {
      const { name } = plan.tool;
      const { background: lasts } = scope.options;
      if (lasts === 'call') return run(scope);
      if (lasts === 'none') throw noSession(name);
      await guard();
      readProcesses(directory);
      makeRoom(name, scope.caller.session, scope.snapshot.settings.limits.background);
      const entry = open(plan, scope, run);
      const isStarted = await looksStarted(entry, scope.controller.signal);
      if (!isStarted) {
        forget(entry);
        if (entry.thrown() !== undefined) throw entry.thrown();
        return (await entry.ended).output;
      }
      if (scope.controller.isAborted) {
        end(entry, 'the call that started it was cancelled');
        throw cancelled(name);
      }
      if (lasts !== undefined)
        releases.set(
          entry.id,
          onAbort(lasts, () => end(entry, 'its session ended')),
        );
      const { id, ended } = entry;
      const { inline } = scope.snapshot.settings.results;
      return { ...describeStarted(entry, inline), meta: toMeta(plan), background: { id, ended } };
    },
    list: ofSession,
    find: (id, session) => ofSession(session).find((entry) => entry.id === id),
    async close() {
      const all = [...entries.values()];
      await Promise.all(all.map((entry) => entry.stop('its session ended')));
      clearInterval(timer);
      for (const entry of all) forget(entry);
    },
  };
}

// False if it ended at once. Cancelling the call ends the wait.
async function looksStarted({ started, ended, isOver }: BackgroundProcess, signal: AbortSignal): Promise<boolean> {
  const aborted = deferred<void>();
  const release = onAbort(signal, aborted.resolve);
  const stopped = Promise.race([ended, aborted.promise]);
  await Promise.race([started, stopped]);
  await settlesWithin(stopped, FIRST_LOOK_MS);
  release();
  return !isOver();
}

// EXE-10
function toMeta({ sandbox }: ProcessPlan): Output['meta'] {
  return sandbox && { sandbox: sandbox.backend, sandboxProfile: sandbox.profile };
}

function noSession(tool: string): ToolError {
  return new ToolError('unavailable', `${tool} was not started: this connection has no session to end it with`, {
    hint: 'use stdio, or the protocol version 2025-11-25 over HTTP; a person can run it in a terminal: wield call',
  });
}

function tooMany(tool: string, running: readonly BackgroundProcess[] | undefined): ToolError {
  const names = running?.map((entry) => `${entry.id} (${entry.shown().tool})`).join(', ');
  return new ToolError('busy', `${tool} was not started: too many processes run in the background`, {
    hint:
      names === undefined
        ? `at most ${MAX_PROCESSES} run at once; stop one: wield list --background`
        : `stop one of ${names}; limits.background of the configuration sets the number`,
  });
}
