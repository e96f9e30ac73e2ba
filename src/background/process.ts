// One process that goes on after its call: its output, and its end.

import { StringDecoder } from 'node:string_decoder';
import { deferred, onAbort, pause } from '../core/async.js';
import { CallController } from '../core/call-controller.js';
import { ToolError, toToolError } from '../core/error.js';
import type { CallScope } from '../core/executor.js';
import { formatCaller } from '../core/name.js';
import type { Plan } from '../core/plan.js';
import { redactKnown } from '../core/redact.js';
import { type Output, textOf } from '../core/result.js';
import { findBeginning, findSecrets } from '../core/secret-forms.js';
import type { World } from '../core/snapshot.js';
import { formatDuration } from '../core/text.js';
import { settlesWithin } from '../core/time-limit.js';
import { type ShownProcess, showProcess } from './files.js';
import { createOutputFiles, type OutputPart, readOutput } from './output.js';

export type BackgroundProcess = ReturnType<typeof createEntry>;

export interface EntryOptions {
  readonly plan: Plan;
  readonly scope: CallScope;
  readonly run: (scope: CallScope) => Promise<Output>;
  readonly id: string;
  readonly session: string;
  readonly base: string;
  readonly world: World;
}

// BGR-3: more than this in a second makes the process wait.
const BYTES_PER_SECOND = 1024 * 1024;

/** Starts a process in the background, and shows it to other processes. Throws `io`. */
export function createEntry({ plan, scope, run, id, session, base, world }: EntryOptions) {
  const { caller, snapshot } = scope;
  const controller = new CallController();
  const started = deferred<void>();
  const output = createOutputFiles(base);
  let shown: ShownProcess = {
    id,
    tool: plan.tool.name,
    pid: null,
    caller: formatCaller(caller),
    kind: caller.kind,
    workdir: snapshot.workdir,
    since: new Date(world.now()).toISOString(),
  };
  showProcess(base, shown);
  const show = (change: Partial<ShownProcess>): void => {
    shown = { ...shown, ...change };
    try {
      showProcess(base, shown);
    } catch (error) {
      world.debug(`other processes do not see ${id}: ${(error as Error).message}`);
    }
  };

  let news = deferred<void>();
  const keep = (text: string): void => {
    output.append(text);
    news.resolve();
    news = deferred<void>();
  };
  // BGR-3: redacted before it is kept, so that no part of a secret is left at an edge of what is kept or read.
  const readers = { stdout: createReader(snapshot.hidden), stderr: createReader(snapshot.hidden) };
  const rate = createRate(world);
  const stream: CallScope['stream'] = (chunk, from) => {
    keep(readers[from].pass(chunk));
    return rate(chunk.length);
  };

  let isOver = false;
  let thrown: unknown;
  let stopped: string | undefined;
  let readUpTo = 0;
  const finish = (last: Output): { output: Output; reason: string } => {
    keep(readers.stdout.end() + readers.stderr.end());
    // EXE-75: the last part names what it created.
    if (last.meta?.sandboxLeft !== undefined) keep(textOf({ content: last.content.slice(-1) }));
    output.close();
    isOver = true;
    const reason = redactKnown(stopped ?? describeEnd(last, plan), snapshot.secrets);
    show({ ended: reason, ok: stopped === undefined && last.error === undefined });
    return { output: stopped === undefined ? last : { content: [], error: stoppedError(plan, stopped) }, reason };
  };
  const own: CallScope = {
    ...scope,
    options: { ...scope.options, onProgress: undefined },
    controller,
    progress: () => {},
    stream,
    spill: undefined,
    onBackground(pid) {
      show({ pid });
      started.resolve();
    },
  };
  const ended = run(own).then(finish, (error: unknown) => {
    thrown = error;
    return finish({ content: [], error: toToolError(error) });
  });

  return {
    id,
    session,
    base,
    /** Resolves when its process runs. */
    started: started.promise,
    ended,
    isOver: () => isOver,
    /** What its run threw, if it did not start. */
    thrown: () => thrown,
    /** What is known of it now. */
    shown: () => shown,
    /** Why output could not be stored, if it could not. */
    fault: () => output.fault,
    /** Reads output from an offset, by default from the end of what was last read so. */
    read(from: number | undefined, most: number): OutputPart {
      const part = readOutput(base, from ?? readUpTo, most);
      if (from === undefined) readUpTo = part.next;
      return part;
    },
    /** Waits until there is unread output, it has ended, or the time is over. */
    async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
      const aborted = deferred<void>();
      const release = onAbort(signal, aborted.resolve);
      const unread = async (): Promise<void> => {
        while (output.size <= readUpTo && !isOver) await news.promise;
      };
      await settlesWithin(Promise.race([unread(), aborted.promise]), milliseconds);
      release();
    },
    /** Ends it with everything that it started; resolves when nothing is left. */
    async stop(why: string): Promise<void> {
      if (!isOver) stopped ??= why;
      controller.abort();
      await ended;
    },
  };
}

// Decodes one stream and removes secrets from it: the other one may come in between. The beginning of a secret at the end
// is held back until more arrives.
function createReader(secrets: readonly string[]) {
  const decoder = new StringDecoder('utf8');
  let held = '';
  const redact = (text: string): string => {
    held += text;
    const from = secrets.length === 0 ? held.length : findBeginning(held, secrets);
    // The end of a secret can be the beginning of another.
    const whole = findSecrets(held, secrets).find(([begin, end]) => begin < from && from < end)?.[1] ?? from;
    const clean = redactKnown(held.slice(0, whole), secrets);
    held = held.slice(whole);
    return clean;
  };
  return {
    pass: (chunk: Uint8Array): string => redact(decoder.write(Buffer.from(chunk))),
    end: (): string => redact(decoder.end()) + redactKnown(held, secrets),
  };
}

// Returns a function that counts bytes, and a promise if the source must wait for the next second.
function createRate(world: World): (bytes: number) => Promise<void> | undefined {
  let since = world.monotonic();
  let taken = 0;
  return (bytes) => {
    const passed = world.monotonic() - since;
    if (passed >= 1000) {
      since = world.monotonic();
      taken = 0;
    }
    taken += bytes;
    return taken < BYTES_PER_SECOND ? undefined : pause(Math.max(1, 1000 - passed));
  };
}

function describeEnd({ error, meta }: Output, plan: Plan): string {
  if (error === undefined) return `exited with status ${meta?.exitCode ?? 0}`;
  if (error.code === 'timeout') return `stopped after ${formatDuration(plan.timeoutMs)}, its time limit`;
  return error.message;
}

function stoppedError({ tool }: Plan, why: string): ToolError {
  return new ToolError('cancelled', `${tool.name} ended: ${why}`, { hint: 'call it again if it is needed' });
}
