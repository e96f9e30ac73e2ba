// Runs scripts and commands; imported on the first run.

import type { RunContext } from '../../core/executor.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { World } from '../../core/world.js';
import { toOutput } from './output.js';
import { runPlan } from './run-plan.js';

export { runCommand } from './command-run.js';

/** Runs a script and returns its output. */
export async function runScript(plan: ProcessPlan, context: RunContext, world: World): Promise<Output> {
  return toOutput(plan, await runPlan(plan, context, world));
}
