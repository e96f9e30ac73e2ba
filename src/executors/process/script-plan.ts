// Plans a script: interpreter, directory and environment.

import { ToolError } from '../../core/error.js';
import type { PlanContext } from '../../core/executor.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { ScriptAction, Tool } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { baseEnvironment, isGranted, searchPath } from '../../process/environment.js';
import { findInterpreter } from '../../process/interpreter.js';
import { findLimiter, limitLauncher } from '../../process/limits.js';
import { assertDirectory, grantsOf } from './common.js';
import { scriptVariables } from './parameters.js';

export interface PlanScriptOptions {
  readonly tool: Tool;
  readonly action: ScriptAction;
  readonly input: Json;
  readonly context: PlanContext;
  readonly world: World;
}

export function planScript({ tool, action, input, context, world }: PlanScriptOptions): ProcessPlan {
  const { workdir, settings } = context.snapshot;
  if (action.sandbox !== undefined) throw noSandbox(tool, action.sandbox);
  assertDirectory(workdir);
  const pass = grantsOf(tool, settings);
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
    // An installed binary has no shebang.
    interpreter: action.shebang === '' ? undefined : findInterpreter(action.shebang, action.file, path),
    cwd: workdir,
    environment: {
      ...baseEnvironment(world, pass),
      ...scriptVariables(tool.name, workdir, parameters),
    },
    stdin: JSON.stringify(input),
    timeoutMs: context.timeoutMs,
    limits: settings.limits,
  };
}

function noSandbox(tool: Tool, profile: string): ToolError {
  return new ToolError('unavailable', `${tool.name} requires the sandbox "${profile}", which is not supported`, {
    hint: 'remove the @sandbox line if the script may run without one',
  });
}

// SCR-24: variables that a script needs must be passed on and set. Their values are never shown.
function assertGranted(tool: Tool, action: ScriptAction, pass: readonly string[], world: World): void {
  for (const name of action.needs) {
    if (!isGranted(name, pass)) {
      throw new ToolError(
        'unavailable',
        `${tool.name} needs the variable ${name}, which the configuration does not pass on`,
        {
          hint: `add it to ~/.wield/config.toml:  [env]  pass = ["${name}"]`,
          data: { variable: name },
        },
      );
    }
    if (world.env[name] === undefined) {
      throw new ToolError('unavailable', `${tool.name} needs the variable ${name}, which is not set`, {
        hint: `set it before starting wield:  export ${name}=…  (the configuration passes it on:  [env]  pass = ["${name}"])`,
        data: { variable: name },
      });
    }
  }
}
