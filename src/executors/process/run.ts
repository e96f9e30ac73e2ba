// Runs scripts and commands; imported on the first run.

import type { RunContext } from '../../core/executor.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import type { ScriptAction } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { toOutput } from './output.js';
import { pinScript } from './pinned.js';
import { runPlan } from './run-plan.js';

export { runCommand } from './command-run.js';

/** Runs a script and returns its output. */
export async function runScript({ plan, action, context, world, beforeRun }: RunScriptOptions): Promise<Output> {
  const pinned = await pinScript(plan, action, world);
  try {
    beforeRun?.();
    return toOutput(plan, await runPlan(plan, context, world, pinned));
  } finally {
    pinned.close();
  }
}

export interface RunScriptOptions {
  readonly plan: ProcessPlan;
  readonly action: ScriptAction;
  readonly context: RunContext;
  readonly world: World;
  /** Called before the process is started. */
  readonly beforeRun: (() => void) | undefined;
}
