// What `run_code` does: runs a program, or resumes a suspended one (COD-1, COD-10).

import type { Caller } from '../core/caller.js';
import type { ToolContext } from '../core/context.js';
import { isToolError, ToolError, toToolError } from '../core/error.js';
import type { SessionLabels } from '../core/label.js';
import { callerKey } from '../core/name.js';
import type { Output } from '../core/result.js';
import type { CodeLimits } from '../core/settings.js';
import type { Snapshot, World } from '../core/snapshot.js';
import type { CallInternals, Tool } from '../core/tool.js';
import { loadCrypto } from '../files/digest.js';
import type { Answer, KeptAnswer } from './host/answers.js';
import { createCalls, type FoundTool } from './host/calls.js';
import { toProgramLine, toSource } from './host/compile.js';
import { type Engine, startEngine } from './host/engine.js';
import { failedCallOf, toProgramError } from './host/errors.js';
import { createProgramLabels, type ProgramLabels } from './host/labels.js';
import {
  describeCalls,
  describeRemoved,
  givenAgain,
  NOTHING,
  suspendedError,
  toAnswer,
  toOutput,
  toText,
} from './host/output.js';
import { createProgram, type FinishedProgram, type WaitingProgram } from './host/program.js';
import { createRun, type Run, type RunOptions } from './host/run.js';
import { type ClaimedProgram, newProgramId, type SuspendedProgram, type SuspendedPrograms } from './host/suspended.js';

export interface RunCodeOptions {
  readonly world: World;
  readonly beforeRun?: (() => void) | undefined;
  list(caller: Caller, snapshot: Snapshot, knownOnly: boolean): Promise<readonly Tool[]>;
  search(query: string, limit: number, caller: Caller, snapshot: Snapshot): Promise<readonly FoundTool[]>;
  /** Undefined if the toolbox keeps no state. */
  readonly suspended?: SuspendedPrograms;
  /** Lets a caller read stored results of its program from before it was suspended, maybe in another session. */
  readonly adopt?: (ids: readonly string[], caller: Caller) => Promise<void>;
  /** Where what a program has read is kept, for the session that resumes it (FLW-10). */
  readonly labels?: SessionLabels;
}

export interface AskedCode {
  readonly code?: string;
  readonly resume?: string;
}

/** Runs or resumes the program that is asked for. */
export async function runCode(
  options: RunCodeOptions,
  asked: AskedCode,
  context: ToolContext,
  internals: CallInternals,
): Promise<Output> {
  const { world } = options;
  const { caller, snapshot } = internals;
  const own = { ...snapshot.settings.code, ...internals.options.codeLimits };
  const owner = { principal: callerKey(caller), workdir: snapshot.workdir };
  const { suspended } = options;
  const begun = await begin(asked, owner, suspended, world);
  const labels = createProgramLabels(options.labels, begun.id, internals, world.now);
  if ('answer' in begun || begun.from !== undefined) await labels.restore();
  if ('answer' in begun) return deliver(begun.answer, internals, begun.ended);
  // What the program did before is computed again, which counts as its time.
  const limits = begun.from?.program.snapshot === '' ? { ...own, cpuMs: 2 * own.cpuMs } : own;
  const run = createRun({ ...begun, limits, suspended, now: world.now });
  let engine: Engine | undefined;
  let answer: Answer;
  try {
    if (begun.from !== undefined) await options.adopt?.(handlesOf(begun.from), caller);
    engine = await startEngine({ world, limits, beforeRun: options.beforeRun });
    const ended = await runOn(engine, { run, labels }, context, internals, { ...options, limits });
    if ('waiting' in ended) {
      run.release();
      const error = run.isDurable() ? suspendedError(run.state, ended.waiting) : ended.waiting[0]!.error!;
      return toOutput(toAnswer(run.state, { error: error.toJSON(), notes: describeRemoved(run.removed()) }));
    }
    answer = toEnd(ended, run, limits, internals);
  } catch (error) {
    if (!isToolError(error)) {
      run.end(toFailure(toToolError(error), run));
      throw error;
    }
    answer = toFailure(error, run);
  } finally {
    engine?.kill();
  }
  run.end(answer);
  return deliver(answer, internals);
}

async function runOn(
  engine: Engine,
  { run, labels }: { readonly run: Run; readonly labels: ProgramLabels },
  context: ToolContext,
  { caller, snapshot, stream }: CallInternals,
  { world, list, search, limits }: RunCodeOptions & { readonly limits: CodeLimits },
): Promise<FinishedProgram | WaitingProgram> {
  const hooks = run.hooks(engine);
  const program = createProgram({
    ...hooks,
    async suspend(waiting) {
      await labels.keep();
      await hooks.suspend(waiting);
    },
    engine,
    limits,
    signal: context.signal,
    now: world.now,
    perform: createCalls({
      async call(ref, input, nested) {
        const result = await context.toolbox.call(ref, input, nested);
        labels.add(result.meta.labels, ref);
        if (run.isDurable()) await labels.keep();
        return result;
      },
      list: (knownOnly) => list(caller, snapshot, knownOnly),
      search: (query, limit) => search(query, limit, caller, snapshot),
    }),
    onLog: (line) => {
      run.log(line);
      void stream?.(Buffer.from(`${line}\n`), 'stderr');
    },
  });
  await run.load(program, engine);
  return program.run();
}

function toEnd({ end }: FinishedProgram, run: Run, limits: CodeLimits, { stream }: CallInternals): Answer {
  const { state } = run;
  if ('error' in end) {
    const { line } = end.error;
    const thrown = line === undefined ? end.error : { ...end.error, line: toProgramLine(state.source, line) };
    const error = toProgramError(thrown, state.events, limits);
    return toFailure(error, run, failedCallOf(thrown, state.events)?.output);
  }
  // A person sees that nothing was printed.
  const isSilent = toText(end) === undefined && state.logs.length === 0 && stream === undefined;
  return toAnswer(state, { ...end, notes: isSilent ? [NOTHING] : [] });
}

// `printed` is what the tool printed whose failure ended the program.
function toFailure(error: ToolError, { state }: Run, printed?: string): Answer {
  const notes = [...(printed === undefined ? [] : [printed]), ...describeCalls(state.events)];
  return toAnswer(state, { error: error.toJSON(), notes });
}

// `ended` is set if the answer is given again. Logs were streamed while the program ran.
async function deliver(answer: Answer, { stream }: CallInternals, ended?: number): Promise<Output> {
  const { logs } = answer;
  const value = toText(answer);
  const notes = ended === undefined ? answer.notes : [...answer.notes, givenAgain(ended)];
  const shown = ended === undefined ? notes : [...logs, ...notes];
  if (value !== undefined) await stream?.(Buffer.from(`${value}\n`), 'stdout');
  if (shown.length > 0) await stream?.(Buffer.from(`${shown.join('\n\n')}\n`), 'stderr');
  return toOutput({ ...answer, notes }, ended);
}

/** Returns the large results that a program has handles of. */
function handlesOf({ program, later }: ClaimedProgram): string[] {
  const outcomes = [...program.events, ...later].flatMap((event) => ('result' in event ? [event.outcome] : []));
  return outcomes.flatMap((outcome) => ('handle' in outcome ? [outcome.handle.id] : []));
}

type Owner = Pick<SuspendedProgram, 'principal' | 'workdir'>;

// The same program of the same caller goes on if it is suspended, like a call that is repeated after its approval.
async function begin(
  { code, resume }: AskedCode,
  owner: Owner,
  suspended: SuspendedPrograms | undefined,
  { now }: World,
): Promise<{ readonly id: string } & (Pick<RunOptions, 'program' | 'from'> | KeptAnswer)> {
  if ((code === undefined) === (resume === undefined)) {
    throw new ToolError('invalid_input', 'give code, or resume', {
      hint: 'code is the text of a program; resume is the id of a suspended one, such as p_…',
    });
  }
  const source = code === undefined ? '' : await toSource(code);
  const id = resume ?? suspended?.find({ ...owner, source });
  if (id !== undefined) {
    if (suspended === undefined) throw new ToolError('not_found', `no suspended program ${id}`, { hint: 'give code' });
    const from = await suspended.claim(id, owner);
    return { id, ...('answer' in from ? from : { program: from.program, from }) };
  }
  const seed = loadCrypto().randomBytes(4).readInt32LE();
  const own = newProgramId();
  return { id: own, program: { ...owner, id: own, source, seed, started: Math.round(now()) } };
}
