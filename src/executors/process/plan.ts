// Plans a process: which binary, with which arguments, where, with which variables. Starts nothing.

import { statSync } from 'node:fs';
import { ToolError } from '../../core/error.js';
import type { PlanContext } from '../../core/executor.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { Settings } from '../../core/settings.js';
import type { ProcessAction, Tool } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { baseEnvironment, isGranted, searchPath } from '../../process/environment.js';
import { findInterpreter } from '../../process/interpreter.js';
import { findLimiter, limitLauncher } from '../../process/limits.js';
import { scriptVariables } from './parameters.js';

export interface PlanProcessOptions {
  readonly tool: Tool;
  readonly action: ProcessAction;
  readonly input: Json;
  readonly context: PlanContext;
  readonly settings: Settings;
  readonly world: World;
}

export function planProcess({
  tool,
  action,
  input,
  context,
  settings,
  world,
}: PlanProcessOptions): ProcessPlan {
  if (action.sandbox !== undefined) throw noSandbox(tool, action.sandbox);
  assertDirectory(context.workdir);
  const pass = [...settings.env.pass, ...(settings.tools.get(tool.name)?.pass ?? [])];
  assertGranted(tool, action, pass, world);
  const path = searchPath(world);
  const parameters: JsonObject = isRecord(input) ? (input as JsonObject) : {};
  return {
    kind: 'process',
    tool,
    input,
    binary: action.file,
    launcher: limitLauncher(settings.limits, () => findLimiter(world.platform, path)),
    argv: [action.file],
    interpreter: findInterpreter(action.shebang, action.file, path),
    cwd: context.workdir,
    environment: {
      ...baseEnvironment(world, pass),
      ...scriptVariables(tool.name, context.workdir, parameters),
    },
    stdin: JSON.stringify(input),
    timeoutMs: context.timeoutMs,
    limits: settings.limits,
  };
}

function noSandbox(tool: Tool, profile: string): ToolError {
  return new ToolError(
    'unavailable',
    `${tool.name} demands the sandbox "${profile}", which this wield cannot enforce`,
    {
      hint: 'remove the @sandbox line if the script may run without one',
    },
  );
}

function assertDirectory(workdir: string): void {
  if (statSync(workdir, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new ToolError('exec_failed', `the working directory ${workdir} is gone`, {
    hint: 'name another with --cwd DIR',
  });
}

// SCR-24: what a script declares it needs must be granted, and be there. The value is never shown.
function assertGranted(tool: Tool, action: ProcessAction, pass: readonly string[], world: World): void {
  for (const name of action.needs) {
    if (!isGranted(name, pass)) {
      throw new ToolError(
        'unavailable',
        `${tool.name} needs the variable ${name}, which the configuration does not grant`,
        {
          hint: `add it to ~/.wield/config.toml:  [env]  pass = ["${name}"]`,
          data: { variable: name },
        },
      );
    }
    if (world.env[name] === undefined) {
      throw new ToolError('unavailable', `${tool.name} needs the variable ${name}, which is not set`, {
        hint: `set it where wield is started:  export ${name}=…  (configuration grants it:  [env]  pass = ["${name}"])`,
        data: { variable: name },
      });
    }
  }
}
