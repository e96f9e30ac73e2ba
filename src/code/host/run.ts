// The state of a run that outlives its process: events, logs, and the file once the program was suspended.

import type { CodeLimits } from '../../core/settings.js';
import type { Answer } from './answers.js';
import type { Engine } from './engine.js';
import type { JournalEvent } from './journal.js';
import { approvalOf, callsOf, type ProgramState, pendingOf } from './output.js';
import type { Program, WaitingForApproval } from './program.js';
import type { ClaimedProgram, SuspendedProgram, SuspendedPrograms } from './suspended.js';

export interface RunOptions {
  readonly program: Pick<SuspendedProgram, 'id' | 'principal' | 'workdir' | 'source' | 'seed' | 'started'>;
  /** What a suspended program goes on from. */
  readonly from?: ClaimedProgram | undefined;
  readonly limits: CodeLimits;
  readonly suspended: SuspendedPrograms | undefined;
  readonly now: () => number;
}

// Less than what is returned inline, so that a value is not stored because of its logs.
const LOG_CHARACTERS = 8000;

export type Run = ReturnType<typeof createRun>;

export function createRun({ program, from, limits, suspended, now }: RunOptions) {
  const logs: string[] = [];
  const events: JournalEvent[] = [];
  const state: ProgramState = { ...program, events, logs };
  let isDurable = from !== undefined;
  let isReplaying = false;
  let isRunning = false;
  const removed: string[] = [];
  let last: { readonly snapshot: string; readonly events: number } | undefined;

  const save = async (engine: Engine, waiting: readonly WaitingForApproval[]): Promise<void> => {
    if (suspended === undefined) return;
    // Asking changes nothing in the engine.
    if (last?.events !== events.length) last = { snapshot: (await engine.snapshot()) ?? '', events: events.length };
    const { snapshot } = last;
    const tools = waiting.map((one) => ({ tool: one.call.name, approval: approvalOf(one) }));
    const { id, principal, workdir, source, seed, started } = program;
    const known = { id, principal, workdir, source, seed, started, engine: engine.version };
    removed.push(...suspended.save({ ...known, snapshot, events, logs, waiting: tools, saved: now() }));
    isDurable = true;
  };

  return {
    state,
    /** Whether the program can be resumed. */
    isDurable: () => isDurable,
    /** Older programs of the caller that were removed to make room for this one. */
    removed: (): readonly string[] => removed,
    log: (line: string) => logs.push(line),
    hooks: (engine: Engine) => ({
      record(event: JournalEvent): void {
        // Known to this process even if it cannot be written: a call that ran is named as such.
        if (!('started' in event)) events.push(event);
        if (isDurable && !isReplaying) suspended!.append(program.id, event);
      },
      suspend: (waiting: readonly WaitingForApproval[]) => save(engine, waiting),
    }),
    /** Starts the program, or brings the engine to where it was. */
    async load(running: Program, engine: Engine): Promise<void> {
      isReplaying = from !== undefined;
      await load(running, engine, { program, from, limits, now, events, logs });
      isReplaying = false;
      isRunning = true;
      // From now on the journal has what happens next, and nothing that was replayed.
      if (from === undefined || from.later.length === 0) return;
      await save(
        engine,
        pendingOf(events).map((call) => ({ call })),
      );
    },
    release: () => suspended?.release(program.id),
    /** Keeps the answer. A program that could not be loaded has not ended, and can be resumed again. */
    end(answer: Answer): void {
      if (!isRunning) suspended?.release(program.id);
      else if (isDurable) {
        try {
          suspended!.end(program, answer);
        } catch {
          // The answer is delivered all the same; without it, nothing may run again.
          suspended!.remove(program.id);
        }
      }
    },
  };
}

interface Loading extends Omit<RunOptions, 'suspended'> {
  readonly events: JournalEvent[];
  readonly logs: string[];
}

async function load(running: Program, engine: Engine, { program, from, limits, now, events, logs }: Loading) {
  const { source, seed, started } = program;
  const limitsWith = (logCharacters: number) => ({ ...limits, logCharacters });
  const start = async (): Promise<void> => {
    const request = { type: 'start', source, seed, now: started, limits: limitsWith(LOG_CHARACTERS) } as const;
    running.accept(await engine.turn(request));
  };
  if (from === undefined) return start();
  const { program: saved, later } = from;
  if (saved.engine !== engine.version || saved.snapshot === '') {
    await start();
    return running.replay([...saved.events, ...later]);
  }
  logs.push(...saved.logs);
  events.push(...saved.events);
  running.expect(pendingOf(events), callsOf(events).length);
  const left = Math.max(0, LOG_CHARACTERS - logs.join('\n').length);
  const { snapshot } = saved;
  running.accept(await engine.turn({ type: 'restore', snapshot, now: now(), limits: limitsWith(left) }));
  return running.replay(later);
}
