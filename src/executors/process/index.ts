// The process executor: runs a script's file, and only the bytes that were planned.

import { ToolError } from '../../core/error.js';
import type { Executor } from '../../core/executor.js';
import type { Plan, ProcessPlan } from '../../core/plan.js';
import type { Settings } from '../../core/settings.js';
import { type ProcessAction, sameIdentity, type Tool } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { digestFile } from '../../files/digest.js';
import { statIdentity } from '../../files/read.js';
import { planProcess } from './plan.js';

export interface ProcessExecutorOptions {
  readonly world: World;
  readonly settings: () => Settings;
  /** Told before each process is started. */
  readonly beforeRun?: () => void;
}

// Asking for a module that is loaded already still takes 0.2 ms.
let runner: typeof import('./run.js') | undefined;

export function createProcessExecutor({
  world,
  settings,
  beforeRun,
}: ProcessExecutorOptions): Executor<'process'> {
  return {
    kind: 'process',
    digest: (tool) => digestScript(tool),
    plan: (tool, input, context) =>
      planProcess({ tool, action: actionOf(tool), input, context, settings: settings(), world }),
    run: async (plan, context) => {
      assertProcess(plan);
      // What spawns is loaded by the first run: a listing needs none of it.
      runner ??= await import('./run.js');
      assertUnchanged(plan.tool);
      beforeRun?.();
      return runner.runPlannedProcess(plan, context, world);
    },
  };
}

function digestScript(tool: Tool): string {
  const action = actionOf(tool);
  const hashed = digestFile(action.file, [tool.origin.format, tool.name]);
  if ('fault' in hashed) throw changed(tool, `cannot be read any more: ${hashed.message}`);
  if (!sameIdentity(hashed.identity, action.identity)) throw changed(tool, 'changed while it was being read');
  return hashed.digest;
}

// Between plan and run a person may have taken minutes to approve: the bytes must still be those.
function assertUnchanged(tool: Tool): void {
  const action = actionOf(tool);
  const identity = statIdentity(action.file);
  if (identity === undefined) throw changed(tool, `is gone: ${action.file}`);
  if (sameIdentity(identity, action.identity)) return;
  const hashed = digestFile(action.file, [tool.origin.format, tool.name]);
  if ('fault' in hashed || hashed.digest !== tool.origin.digest)
    throw changed(tool, 'changed after it was planned');
}

function changed(tool: Tool, how: string): ToolError {
  return new ToolError('integrity', `${tool.name} ${how}, so it was not run`, { hint: 'call it again' });
}

function actionOf(tool: Tool): ProcessAction {
  if (tool.action.kind !== 'process') throw new TypeError(`${tool.name} is no process`);
  return tool.action;
}

function assertProcess(plan: Plan): asserts plan is ProcessPlan {
  if (plan.kind !== 'process') throw new TypeError(`${plan.tool.name} is no process`);
}
