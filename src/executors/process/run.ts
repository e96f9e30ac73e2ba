// Runs the process of a plan, whose script is pinned; imported on the first run.

import { Cancellation } from '../../core/cancellation.js';
import { ToolError } from '../../core/error.js';
import type { RunContext } from '../../core/executor.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { ScriptAction } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import type { ProcessOutcome } from '../../process/request.js';
import { runProcess } from '../../process/spawn.js';
import { toOutput } from './output.js';
import { type Pinned, pinScript } from './pinned.js';
import { createProgressFilter } from './progress-lines.js';

// Importing a loaded module again still takes 0.2 ms.
let preparing: typeof import('../../process/sandbox/prepare.js') | undefined;
let reporting: typeof import('../../process/sandbox/report.js') | undefined;

/** Runs a script and returns its output. */
export async function runScript({ plan, action, context, world, beforeRun }: RunScriptOptions): Promise<Output> {
  const pinned = await pinScript(plan, action, world);
  try {
    beforeRun?.();
    if (plan.sandbox !== undefined) {
      preparing ??= await import('../../process/sandbox/prepare.js');
      preparing.prepareSandbox(plan.sandbox);
    }
    const outcome = await runPlan(plan, context, world, pinned);
    const output = await withSandboxReport(toOutput(plan, outcome), plan, outcome, world);
    return output.error?.code === 'tool_failed' ? withSuggestion(output, outcome, { plan, action, world }) : output;
  } finally {
    pinned.close();
  }
}

/** Adds what the sandbox of a process did to its output (EXE-10). */
export async function withSandboxReport(
  output: Output,
  plan: ProcessPlan,
  { stderr, stdout }: ProcessOutcome,
  world: World,
): Promise<Output> {
  if (plan.sandbox === undefined) return output;
  reporting ??= await import('../../process/sandbox/report.js');
  return reporting.reportSandbox(
    output,
    plan,
    { stderr: stderr.toString('utf8'), stdout: stdout.toString('utf8') },
    world,
  );
}

// SCR-28: a script of another author may expect the whole environment.
async function withSuggestion(
  output: Output,
  { stderr }: ProcessOutcome,
  { plan, action, world }: Pick<RunScriptOptions, 'plan' | 'action' | 'world'>,
): Promise<Output> {
  const { suggestVariables } = await import('./missing-variables.js');
  const hint = suggestVariables(action, plan, stderr.toString('utf8'), world);
  const { code, message, data } = output.error!;
  return hint === undefined ? output : { ...output, error: new ToolError(code, message, { hint, data }) };
}

export interface RunScriptOptions {
  readonly plan: ProcessPlan;
  readonly action: ScriptAction;
  readonly context: RunContext;
  readonly world: World;
  /** Called before the process is started. */
  readonly beforeRun: (() => void) | undefined;
}

// SCR-23 requires 5 s; timers are often late.
const HEARTBEAT_MS = 4500;

/**
 * Runs the process of a plan to its end. Progress lines are removed from stderr. Throws `integrity` if a pinned script
 * was replaced; its process is then ended, and its output dropped.
 */
export async function runPlan(
  plan: ProcessPlan,
  context: RunContext,
  world: World,
  pinned?: Pinned,
): Promise<ProcessOutcome> {
  const report: RunContext['progress'] = (progress) => {
    heartbeat?.refresh();
    context.progress(progress);
  };
  const filter = createProgressFilter(report);
  const heartbeat = context.wantsProgress
    ? setInterval(() => context.progress({ message: `${plan.tool.name} is still running` }), HEARTBEAT_MS)
    : undefined;
  const { stream, spill } = context;
  const watch = watchPinned(pinned, context.cancellation);
  try {
    const outcome = await runProcess(
      {
        argv: commandLine(plan, pinned),
        argv0: launcherOf(plan, pinned).length === 0 ? pinned?.argv0 : undefined,
        descriptor: pinned?.descriptor,
        filter: plan.sandbox?.filter,
        cwd: plan.cwd,
        environment: plan.environment,
        stdin: plan.stdin,
        timeoutMs: context.timeoutMs ?? plan.timeoutMs,
        outputBytes: plan.limits.outputBytes,
        cancellation: watch.cancellation,
        onFirstOutput: watch.verify,
        filterStderr: (chunk) => filter.pass(chunk),
        onOutput: stream && ((chunk, from) => (watch.isFailed() ? undefined : stream(chunk, from))),
        spill,
      },
      world,
    );
    watch.verify();
    watch.assert();
    const rest = filter.rest();
    if (rest.length > 0) await stream?.(rest, 'stderr');
    return { ...outcome, stderr: Buffer.concat([outcome.stderr, rest]) };
  } finally {
    watch.release();
    clearInterval(heartbeat);
  }
}

// Replaces the name of the program by its absolute path.
function commandLine(plan: ProcessPlan, pinned: Pinned | undefined): string[] {
  const { binary, argv } = plan;
  const launcher = launcherOf(plan, pinned);
  return pinned === undefined ? [...launcher, binary, ...argv.slice(1)] : [...launcher, ...pinned.argv];
}

/** Returns what comes before the command line: limits, then the sandbox. */
export function launcherOf({ launcher, sandbox }: ProcessPlan, pinned: Pinned | undefined): readonly string[] {
  if (sandbox === undefined) return launcher;
  // Landlock also judges the reading of a descriptor by path.
  const isReopened = sandbox.backend === 'landlock' && pinned?.descriptor !== undefined;
  const rest = isReopened ? [...sandbox.launcher.slice(0, -1), ...SOURCE_RULE, '--'] : sandbox.launcher;
  return [...launcher, ...rest];
}

const SOURCE_RULE = ['--landlock-rule', 'path-beneath:execute,read-file:/proc/self/fd/3'];

// Verifies a pinned script once: at its first output, when it has been read, or at its end.
function watchPinned(pinned: Pinned | undefined, outer: Cancellation) {
  let verified = pinned?.verify === undefined;
  let failure: unknown;
  const cancellation = new Cancellation();
  return {
    cancellation,
    release: cancellation.follow(outer),
    isFailed: (): boolean => failure !== undefined,
    verify(): void {
      if (verified) return;
      verified = true;
      try {
        pinned!.verify!();
      } catch (error) {
        failure = error;
        cancellation.cancel();
      }
    },
    assert(): void {
      if (failure !== undefined) throw failure;
    },
  };
}
