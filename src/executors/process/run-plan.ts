// Runs the process of a plan to its end and reports progress.

import type { RunContext } from '../../core/executor.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { World } from '../../core/world.js';
import type { ProcessOutcome } from '../../process/request.js';
import { runProcess } from '../../process/spawn.js';
import { createProgressFilter } from './progress.js';

// SCR-23 requires 5 s; timers are often late.
const HEARTBEAT_MS = 4500;

/** Runs the process of a plan to its end. Progress lines are removed from stderr. */
export async function runPlan(plan: ProcessPlan, context: RunContext, world: World): Promise<ProcessOutcome> {
  const report: RunContext['progress'] = (progress) => {
    heartbeat?.refresh();
    context.progress(progress);
  };
  const filter = createProgressFilter(report);
  const heartbeat = context.wantsProgress
    ? setInterval(() => context.progress({ message: `${plan.tool.name} is still running` }), HEARTBEAT_MS)
    : undefined;
  const { stream, spill } = context;
  try {
    const outcome = await runProcess(
      {
        argv: commandLine(plan),
        cwd: plan.cwd,
        environment: plan.environment,
        stdin: plan.stdin,
        timeoutMs: context.timeoutMs ?? plan.timeoutMs,
        outputBytes: plan.limits.outputBytes,
        signal: context.signal,
        filterStderr: (chunk) => filter.pass(chunk),
        onOutput: stream,
        spill,
      },
      world,
    );
    const rest = filter.rest();
    if (rest.length > 0) await stream?.(rest, 'stderr');
    return { ...outcome, stderr: Buffer.concat([outcome.stderr, rest]) };
  } finally {
    clearInterval(heartbeat);
  }
}

// Replaces the name of the program by its absolute path.
function commandLine({ launcher, binary, argv }: ProcessPlan): string[] {
  return [...launcher, binary, ...argv.slice(1)];
}
