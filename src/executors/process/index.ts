// The process executor: plans and runs scripts and declared commands.

import type { Executor, PlanContext } from '../../core/executor.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { variableName } from '../../core/name.js';
import type { ProcessPlan } from '../../core/plan.js';
import { fillDefaults } from '../../core/schema.js';
import type { World } from '../../core/snapshot.js';
import type { ProcessAction, ScriptAction, Tool } from '../../core/tool.js';
import { statIdentity } from '../../files/read.js';
import {
  assertDirectory,
  baseEnvironment,
  findInterpreter,
  findLimiter,
  grantsOf,
  limitLauncher,
  mayBeSandboxed,
  pathOutside,
  searchPath,
  worldOf,
} from '../../process/environment.js';
import { checkPlan, nulError } from './check-plan.js';
import { planCommand } from './command-plan.js';
import { digestCommand, digestScript, readPlannedScripts, scriptNames } from './integrity.js';
import type { SeenFiles } from './side-read.js';

export interface ProcessExecutorOptions {
  readonly world: World;
  /** Where the state of wield is; found by the environment if absent. */
  readonly wieldHome?: string;
  /** Called before each process is started. */
  readonly beforeRun?: () => void;
}

// Unchecked: the runtime chooses the executor by the kind of the action.
const actionOf = ({ action }: Tool): ProcessAction => action as ProcessAction;

// Importing a loaded module again still takes 0.2 ms.
let scripts: typeof import('./run.js') | undefined;
let commands: typeof import('./command-run.js') | undefined;

export function createProcessExecutor({ world, wieldHome, beforeRun }: ProcessExecutorOptions): Executor<'process'> {
  const seen: SeenFiles = new Map();
  const places = { world, wieldHome };
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
    async plan(tool, input, context) {
      const action = actionOf(tool);
      const options = { tool, input, context, world: worldOf(context, world) };
      const plan = action.runs === 'script' ? planScript({ ...options, action }) : planCommand({ ...options, action });
      const isGuarded = plan.command?.slots.some(({ mapping }) => mapping.deny !== undefined) === true;
      const isSandboxed = !context.withoutSandbox && mayBeSandboxed(tool, context.snapshot.settings);
      const { call, needs } = action as Partial<ScriptAction>;
      if (!isGuarded && !isSandboxed && !call && !needs?.length) return plan;
      return checkPlan(plan, context, { isGuarded, isSandboxed, places });
    },
    async programs(plan, { workdir }) {
      const { identifyPlan } = await import('./programs.js');
      return identifyPlan(plan, workdir, places);
    },
    async run(plan, scope) {
      const action = actionOf(plan.tool);
      // Imported on first use: a listing starts no process.
      if (action.runs === 'script') {
        scripts ??= await import('./run.js');
        return scripts.runScript({ plan, action, scope, world, beforeRun });
      }
      commands ??= await import('./command-run.js');
      const planned = readPlannedScripts(plan, action);
      beforeRun?.();
      return commands.runCommand({ plan, scripts: planned, seen, scope, world });
    },
  };
}

interface PlanScriptOptions {
  readonly tool: Tool;
  readonly action: ScriptAction;
  readonly input: Json;
  readonly context: PlanContext;
  readonly world: World;
}

function planScript({ tool, action, input, context, world }: PlanScriptOptions): ProcessPlan {
  const { workdir, settings } = context.snapshot;
  assertDirectory(workdir);
  const pass = grantsOf(tool, settings);
  const path = searchPath(world);
  const parameters = toParameters(tool, input, context.nulls ?? []);
  // An installed binary has no shebang.
  const interpreter = action.shebang === '' ? undefined : findInterpreter(action.shebang, action.file, path);
  return {
    kind: 'process',
    tool,
    input: parameters,
    binary: action.file,
    launcher: limitLauncher(settings.limits, () => findLimiter(world.platform, pathOutside(workdir, world))),
    argv: [action.file],
    interpreter,
    identity: interpreter === undefined ? undefined : statIdentity(interpreter),
    cwd: workdir,
    // Without a prototype it is a table: with one, its names make the engine keep 2 KB per call (decision 0189).
    environment: Object.assign(
      Object.create(null),
      baseEnvironment(world, pass),
      scriptVariables(tool.name, workdir, parameters),
    ),
    stdin: JSON.stringify(parameters),
    timeoutMs: context.timeoutMs,
    limits: settings.limits,
  };
}

// Rules and the script see defaults, and null for a parameter that was given as null.
function toParameters({ input: { json } }: Tool, input: Json, nulls: readonly string[]): JsonObject {
  const filled = isRecord(input) ? (fillDefaults(input as JsonObject, json) as JsonObject) : {};
  const empty = nulls.filter((name) => !Object.hasOwn(filled, name));
  return empty.length === 0 ? filled : { ...filled, ...Object.fromEntries(empty.map((name) => [name, null])) };
}

// Linux rejects a variable over 128 KiB, and an environment that is too long in total (SCR-11).
const MAX_VALUE_BYTES = 96 * 1024;
const MAX_TOTAL_BYTES = 512 * 1024;
const PREFIXES = ['WIELD', 'OCTOMIND'];

/** Returns `WIELD_PARAM_*`, `WIELD_TOOL_NAME`, `WIELD_WORKDIR`, and the same with the prefix OCTOMIND. */
function scriptVariables(toolName: string, workdir: string, input: JsonObject): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const prefix of PREFIXES) {
    variables[`${prefix}_TOOL_NAME`] = toolName;
    variables[`${prefix}_WORKDIR`] = workdir;
    for (const [name, value] of fitting(input)) variables[`${prefix}_PARAM_${variableName(name)}`] = value;
  }
  return variables;
}

// Omits the largest values until the rest fits; stdin has all of them.
function fitting(input: JsonObject): [string, string][] {
  const sized = Object.entries(input)
    .map(([name, value]) => ({ name, text: naturalForm(name, value), bytes: 0 }))
    .map((entry) => ({ ...entry, bytes: Buffer.byteLength(entry.text) }))
    .filter((entry) => entry.bytes <= MAX_VALUE_BYTES)
    .sort((a, b) => a.bytes - b.bytes);
  let total = 0;
  return sized
    .filter((entry) => {
      total += entry.bytes * PREFIXES.length;
      return total <= MAX_TOTAL_BYTES;
    })
    .map(({ name, text }) => [name, text]);
}

function naturalForm(name: string, value: Json): string {
  const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
  if (text.includes('\0')) {
    throw nulError(name);
  }
  return text;
}
