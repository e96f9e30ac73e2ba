// The process executor: runs scripts and declared commands as planned.

import type { Executor } from '../../core/executor.js';
import type { Plan, ProcessPlan } from '../../core/plan.js';
import type { ProcessAction, Tool } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { planCommand } from './command-plan.js';
import { digestCommand, digestScript, readPlannedScripts, scriptNames } from './integrity.js';
import { planScript } from './script-plan.js';

export interface ProcessExecutorOptions {
  readonly world: World;
  /** Called before each process is started. */
  readonly beforeRun?: () => void;
}

// Importing a loaded module again still takes 0.2 ms.
let scripts: typeof import('./run.js') | undefined;
let commands: typeof import('./command-run.js') | undefined;

export function createProcessExecutor({ world, beforeRun }: ProcessExecutorOptions): Executor<'process'> {
  return {
    kind: 'process',
    digest(tool) {
      const action = actionOf(tool);
      return action.runs === 'script' ? digestScript(tool, action) : digestCommand(tool, action);
    },
    keepsDigest(tool) {
      const action = actionOf(tool);
      return action.runs === 'script' || scriptNames(action).length === 0;
    },
    plan(tool, input, context) {
      const action = actionOf(tool);
      const options = { tool, input, context, world };
      return action.runs === 'script' ? planScript({ ...options, action }) : planCommand({ ...options, action });
    },
    async run(plan, context) {
      assertProcess(plan);
      const action = actionOf(plan.tool);
      // Imported on first use: a listing starts no process.
      if (action.runs === 'script') {
        scripts ??= await import('./run.js');
        return scripts.runScript({ plan, action, context, world, beforeRun });
      }
      commands ??= await import('./command-run.js');
      const planned = readPlannedScripts(plan, action);
      beforeRun?.();
      return commands.runCommand({ plan, scripts: planned, context, world });
    },
  };
}

function actionOf(tool: Tool): ProcessAction {
  if (tool.action.kind !== 'process') throw new TypeError(`${tool.name} is not a process`);
  return tool.action;
}

function assertProcess(plan: Plan): asserts plan is ProcessPlan {
  if (plan.kind !== 'process') throw new TypeError(`${plan.tool.name} is not a process`);
}
