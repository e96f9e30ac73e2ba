// Runs the process of a plan to its end, telling of progress.

import type { RunContext } from '../../core/executor.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { World } from '../../core/world.js';
import type { ProcessOutcome } from '../../process/request.js';
import { runProcess } from '../../process/spawn.js';
import { createProgressFilter } from './progress.js';

// SCR-23 says 5 s; a timer is never early and often late.
const HEARTBEAT_MS = 4500;

/** Runs a plan's process to its end: progress is told, and what is left of standard error is output. */
export async function runPlan(plan: ProcessPlan, context: RunContext, world: World): Promise<ProcessOutcome> {
  const tell: RunContext['progress'] = (progress) => {
    heartbeat?.refresh();
    context.progress(progress);
  };
  const filter = createProgressFilter(tell);
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
        ...(stream === undefined ? {} : { onOutput: stream }),
        ...(spill === undefined ? {} : { spill }),
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

// The program by its absolute path, whatever name stands first on its command line.
function commandLine({ launcher, binary, argv }: ProcessPlan): string[] {
  return [...launcher, binary, ...argv.slice(1)];
}
