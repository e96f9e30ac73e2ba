// Runs one program: turns of the engine, calls in between, and the moments at which it is suspended.

import { deferred, onAbort } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import type { CodeLimits } from '../../core/settings.js';
import { quoteOutside } from '../../core/text.js';
import { cancelled, startTimeLimit } from '../../core/time-limit.js';
import type { CallKind, EngineCall, Outcome, ProgramEnd, Turn } from '../protocol.js';
import type { Engine } from './engine.js';
import { exceeded } from './errors.js';
import { diverged, type JournalEvent, sameCall, unknownOutcome } from './journal.js';

/** A call that needs approval and has not started. */
export interface Deferred {
  readonly deferred: ToolError;
}

export interface PerformOptions {
  /** Asks for approval, or stores the question; otherwise the call is deferred. */
  readonly ask: boolean;
  readonly signal: AbortSignal;
  /** Called right before the tool runs. */
  readonly onStart: () => void;
}

export interface ProgramOptions {
  readonly engine: Engine;
  readonly limits: CodeLimits;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Makes a call. Never throws. */
  perform(call: EngineCall, options: PerformOptions): Promise<Outcome | Deferred>;
  /** Called with every event, before it has an effect. */
  record(event: JournalEvent): void;
  /** Called when all that is left are calls that need approval, before any of them is asked for. */
  suspend(waiting: readonly WaitingForApproval[]): Promise<void>;
  onLog(line: string): void;
}

export interface FinishedProgram {
  readonly end: ProgramEnd;
}

/** A call that needs approval; `error` says how to give it, once it was asked for. */
export interface WaitingForApproval {
  readonly call: EngineCall;
  readonly error?: ToolError;
}

/** All that is left are calls that need approval, which was asked for and not given yet. */
export interface WaitingProgram {
  readonly waiting: readonly WaitingForApproval[];
}

interface PendingCall {
  readonly call: EngineCall;
  state: 'queued' | 'running' | 'deferred' | 'asked';
  ask: boolean;
  error?: ToolError;
}

const KINDS: readonly CallKind[] = ['call', 'search', 'json', 'page', 'query'];

export type Program = ReturnType<typeof createProgram>;

/** Runs a program from its first turn, or from the calls that it waits for after a restore. */
export function createProgram(options: ProgramOptions) {
  const { engine, limits, now, record } = options;
  const pending = new Map<number, PendingCall>();
  let last = 0;
  let end: ProgramEnd | undefined;

  const accept = ({ calls, logs, end: ended }: Turn): void => {
    for (const line of logs) options.onLog(line);
    for (const call of calls) {
      // The engine runs the program's code, so nothing that it says is taken for granted.
      if (call.id !== last + 1 || !KINDS.includes(call.kind) || typeof call.name !== 'string') throw notACall();
      last = call.id;
      record({ call });
      if (last > limits.calls) throw exceeded('calls', limits);
      pending.set(call.id, { call, state: 'queued', ask: false });
    }
    end ??= ended;
  };
  const deliver = async (id: number, outcome: Outcome, at = now()): Promise<void> => {
    const { call } = pending.get(id)!;
    pending.delete(id);
    record({ result: id, now: at, outcome });
    if (end !== undefined && 'error' in outcome)
      options.onLog(`${quoteOutside(call.name, 80)} failed after the program had ended: ${outcome.error.message}`);
    accept(await engine.turn({ type: 'deliver', id, now: at, outcome }));
  };

  return {
    accept,
    /** Continues with calls that were made before. */
    expect(calls: readonly EngineCall[], made: number): void {
      for (const call of calls) pending.set(call.id, { call, state: 'queued', ask: false });
      last = made;
    },
    /** Does again what a journal says. Throws `conflict` if the program does something else. */
    async replay(events: readonly JournalEvent[]): Promise<void> {
      const begun = new Set<number>();
      for (const event of events) {
        if ('call' in event) {
          const made = pending.get(event.call.id)?.call;
          if (made === undefined || !sameCall(made, event.call)) throw diverged(event.call, made);
        } else if ('started' in event) begun.add(event.started);
        else if (!pending.has(event.result)) throw diverged(undefined, { ...NO_CALL, id: event.result });
        else await deliver(event.result, event.outcome, event.now);
      }
      for (const id of begun) {
        const left = pending.get(id);
        if (left !== undefined) await deliver(id, unknownOutcome(left.call));
      }
    },
    run: () => runCalls(options, { pending, deliver, end: () => end }),
  };
}

interface Running {
  readonly pending: Map<number, PendingCall>;
  deliver(id: number, outcome: Outcome): Promise<void>;
  end(): ProgramEnd | undefined;
}

async function runCalls(options: ProgramOptions, program: Running): Promise<FinishedProgram | WaitingProgram> {
  const { limits, engine } = options;
  const { pending } = program;
  const stopping = createStopping(options);
  const running = new Map<number, Promise<{ id: number; outcome: Outcome | Deferred }>>();
  const inState = (state: PendingCall['state']): PendingCall[] =>
    [...pending.values()].filter((one) => one.state === state);
  const begin = (one: PendingCall): void => {
    const { call, ask } = one;
    one.state = 'running';
    const resume = ask ? stopping.pause() : undefined;
    const onStart = (): void => options.record({ started: call.id });
    const made = options.perform(call, { ask, signal: stopping.signal, onStart }).then((outcome) => {
      resume?.();
      return { id: call.id, outcome };
    });
    running.set(call.id, made);
  };
  try {
    for (;;) {
      for (const one of inState('queued').slice(0, limits.parallel - running.size)) begin(one);
      if (running.size === 0) {
        const deferred = inState('deferred');
        const asked = inState('asked');
        if (deferred.length + asked.length === 0) {
          const end = program.end();
          if (end === undefined) throw neverEnds();
          return { end };
        }
        await stopping.race(options.suspend([...asked, ...deferred]));
        if (deferred.length === 0) return { waiting: asked };
        for (const one of deferred) Object.assign(one, { state: 'queued', ask: true });
        continue;
      }
      const { id, outcome } = await stopping.race(Promise.race(running.values()));
      running.delete(id);
      if (!('deferred' in outcome)) await stopping.race(program.deliver(id, outcome));
      else {
        const one = pending.get(id)!;
        one.state = one.ask ? 'asked' : 'deferred';
        if (one.ask) one.error = outcome.deferred;
      }
    }
  } finally {
    stopping.end();
    engine.kill();
    // Calls that had begun may have had an effect (COD-3).
    for (const { id, outcome } of await Promise.all(running.values())) {
      if (!('deferred' in outcome)) options.record({ result: id, now: options.now(), outcome });
    }
  }
}

// Ends the program and its calls when it is cancelled or takes too long. Waiting for a person does not count.
function createStopping({ signal, limits }: ProgramOptions) {
  const controller = new AbortController();
  const { promise: stopped, reject: stop } = deferred<never>();
  stopped.catch(() => {});
  const limit = startTimeLimit(limits.timeoutMs, () => stop(exceeded('timeout', limits)));
  const unlisten = onAbort(signal, () => stop(cancelled('the program')));
  return {
    signal: controller.signal,
    pause: limit.pause,
    race: <T>(work: Promise<T>): Promise<T> => Promise.race([stopped, work]),
    end(): void {
      controller.abort();
      limit.clear();
      unlisten();
    },
  };
}

const NO_CALL: EngineCall = { id: 0, kind: 'call', name: '?', input: null };

function neverEnds(): ToolError {
  return new ToolError('tool_failed', 'the program waits for something that never happens', {
    hint: 'await only calls of tools; there are no timers and no events',
  });
}

function notACall(): ToolError {
  return new ToolError('exec_failed', 'the engine of the program sent something that is not a call', {
    hint: 'see which calls ran before you run the program again',
  });
}
