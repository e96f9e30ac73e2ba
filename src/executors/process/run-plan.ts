// Runs the process of a plan to its end and reports progress.

import type { RunContext } from '../../core/executor.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { World } from '../../core/world.js';
import type { ProcessOutcome } from '../../process/request.js';
import { runProcess } from '../../process/spawn.js';
import type { Pinned } from './pinned.js';
import { createProgressFilter } from './progress.js';

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
  const watch = watchPinned(pinned, context.signal);
  try {
    const outcome = await runProcess(
      {
        argv: commandLine(plan, pinned),
        argv0: plan.launcher.length === 0 ? pinned?.argv0 : undefined,
        descriptor: pinned?.descriptor,
        cwd: plan.cwd,
        environment: plan.environment,
        stdin: plan.stdin,
        timeoutMs: context.timeoutMs ?? plan.timeoutMs,
        outputBytes: plan.limits.outputBytes,
        signal: watch.signal,
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
    clearInterval(heartbeat);
  }
}

// Replaces the name of the program by its absolute path.
function commandLine({ launcher, binary, argv }: ProcessPlan, pinned: Pinned | undefined): string[] {
  return pinned === undefined ? [...launcher, binary, ...argv.slice(1)] : [...launcher, ...pinned.argv];
}

// Verifies a pinned script once: at its first output, when it has been read, or at its end.
function watchPinned(pinned: Pinned | undefined, outer: AbortSignal) {
  let verified = pinned?.verify === undefined;
  let failure: unknown;
  const failed = new AbortController();
  return {
    signal: verified ? outer : AbortSignal.any([outer, failed.signal]),
    isFailed: (): boolean => failure !== undefined,
    verify(): void {
      if (verified) return;
      verified = true;
      try {
        pinned!.verify!();
      } catch (error) {
        failure = error;
        failed.abort();
      }
    },
    assert(): void {
      if (failure !== undefined) throw failure;
    },
  };
}
