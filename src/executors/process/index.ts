// The process executor: plans and runs scripts and declared commands.

import { delimiter, dirname } from 'node:path';
import type { BackgroundProcesses } from '../../background/processes.js';
import { resolversOf } from '../../core/command.js';
import { ToolError } from '../../core/error.js';
import type { CallScope, Executor, WithVariables } from '../../core/executor.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { variableName } from '../../core/name.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import { fillDefaults } from '../../core/schema.js';
import type { World } from '../../core/snapshot.js';
import { actionOf, type CommandAction, type ScriptAction, type Tool } from '../../core/tool.js';
import { statIdentity } from '../../files/read.js';
import { withForeignInput } from '../../formats/script/foreign-input.js';
import type { FindRoute } from '../../net/route.js';
import {
  assertDirectory,
  baseEnvironment,
  findInterpreter,
  findLimiter,
  findProgram,
  grantsOf,
  limitLauncher,
  mayBeSandboxed,
  pathOutside,
  searchPath,
  withReferences,
  worldOf,
} from '../../process/environment.js';
import { identifyPrograms, type NamedProgram, shebangPrograms } from '../../process/programs.js';
import { type SandboxContext, withSandbox } from '../../process/sandbox/index.js';
import { toFault } from './arguments.js';
import type { SeenFiles } from './command-output.js';
import { type PlanOptions, planCommand } from './command-plan.js';
import { runCommand } from './command-run.js';
import { digestCommand, digestScript, readPlannedScripts, scriptNames } from './integrity.js';
import { assertGranted } from './missing-variables.js';
import { runScript } from './run.js';

/** Options of `createProcessExecutor`. */
export interface ProcessExecutorOptions {
  /** The environment and clock. */
  readonly world: World;
  /** Where the state of wield is; found by the environment if absent. */
  readonly wieldHome?: string;
  /** Replaces references in the environment of a plan. */
  readonly withVariables: WithVariables;
  /** Finds the way of requests from a sandbox with a list of hosts; all are direct without it. */
  readonly findRoute?: FindRoute;
  /** Called before each process is started. */
  readonly beforeRun?: () => void;
  /** Runs processes that go on after their call; without it calls wait for them. */
  readonly background?: BackgroundProcesses;
}

/** Creates the executor of scripts and commands. */
export function createProcessExecutor(options: ProcessExecutorOptions): Executor<'process'> {
  const { world, wieldHome, beforeRun, background, withVariables, findRoute } = options;
  const seen: SeenFiles = new Map();
  const sandboxing = { world, wieldHome };
  const runPlanned = async (planned: ProcessPlan, scope: CallScope): Promise<Output> => {
    const plan = await withVariables(planned, scope);
    const action = actionOf(plan.tool, 'process');
    if (action.runs === 'script') return runScript({ plan, action, scope, world, findRoute, beforeRun });
    const scripts = readPlannedScripts(plan, action);
    beforeRun?.();
    return runCommand({ plan, scripts, seen, scope, world, findRoute });
  };
  return {
    kind: 'process',
    digest(tool) {
      const action = actionOf(tool, 'process');
      return action.runs === 'script' ? digestScript(tool, action) : digestCommand(tool, action);
    },
    keepsDigest(tool) {
      const action = actionOf(tool, 'process');
      return action.runs === 'script' || scriptNames(action).length === 0;
    },
    async plan(tool, input, context) {
      const action = actionOf(tool, 'process');
      const { snapshot } = context;
      const options = { tool, input, context, world: withReferences(tool, snapshot.settings, worldOf(context, world)) };
      const plan = action.runs === 'script' ? planScript({ ...options, action }) : planCommand({ ...options, action });
      if (context.withoutSandbox || !mayBeSandboxed(tool, snapshot.settings)) return plan;
      const own = action.runs === 'script' ? [action.file, dirname(action.file), plan.cwd] : [action.directory];
      return withSandbox(plan, snapshot, [plan.interpreter ?? plan.binary, ...own], sandboxing);
    },
    programs: async (plan, { workdir }) => identifyPlan(plan, workdir, sandboxing),
    async run(plan, scope) {
      if (plan.tool.traits.background !== true || background === undefined) return runPlanned(plan, scope);
      return background.start(plan, scope, (own) => runPlanned(withOwnOutput(plan, own), own));
    },
    close: async () => background?.close(),
  };
}

// What a process in the background writes is kept elsewhere, except for its beginning.
const FIRST_BYTES = 64 * 1024;

function withOwnOutput(plan: ProcessPlan, { onBackground }: CallScope): ProcessPlan {
  const { limits } = plan;
  return onBackground === undefined
    ? plan
    : { ...plan, limits: { ...limits, outputBytes: Math.min(limits.outputBytes, FIRST_BYTES) } };
}

function planScript({ tool, action, input, context, world }: PlanOptions<ScriptAction>): ProcessPlan {
  const { workdir, settings } = context.snapshot;
  assertDirectory(workdir);
  const pass = grantsOf(tool, settings);
  const path = searchPath(world);
  const parameters = toParameters(tool, input, context.nulls ?? []);
  // An installed binary has no shebang.
  const interpreter = action.shebang === '' ? undefined : findInterpreter(action.shebang, action.file, path);
  assertGranted(tool, action.needs ?? [], pass, world);
  const plan: ProcessPlan = {
    kind: 'process',
    tool,
    input: parameters,
    binary: action.file,
    launcher: limitLauncher(settings.limits, () => findLimiter(world.platform, pathOutside(workdir, world))),
    argv: [action.file],
    interpreter,
    identity: interpreter === undefined ? undefined : statIdentity(interpreter),
    cwd: workdir,
    environment: { ...baseEnvironment(world, pass), ...scriptVariables(tool.name, workdir, parameters) },
    stdin: JSON.stringify(parameters),
    timeoutMs: context.timeoutMs,
    limits: settings.limits,
  };
  return action.call === undefined ? plan : withForeignInput(plan, action.call);
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
  if (!text.includes('\0')) return text;
  throw new ToolError('invalid_input', `${name} contains a NUL character, which no variable can hold`, {
    hint: 'leave it out',
    data: toFault(name, 'text without NUL', 'text with NUL'),
  });
}

/** Returns the lines of a plan (POL-25): the same for every input, because an approval may be for any input. */
function identifyPlan(plan: ProcessPlan, workdir: string, { world, wieldHome }: SandboxContext): string[] {
  const action = actionOf(plan.tool, 'process');
  const path = (plan.environment.PATH ?? '').split(delimiter);
  const launchers = [plan.launcher[0], plan.sandbox?.launcher[0]].filter((file) => file !== undefined);
  const programs =
    action.runs === 'command'
      ? commandPrograms(action, pathOutside(workdir, world))
      : action.shebang === ''
        ? []
        : shebangPrograms(action.shebang, action.file, { path });
  const started = launchers.map((file) => ({ name: file, file }));
  return identifyPrograms([...started, ...programs], { path, world, wieldHome });
}

// All that the declaration names: which of them run depends on the input.
function commandPrograms(action: CommandAction, path: readonly string[]): NamedProgram[] {
  const resolvers = action.executions.flatMap(resolversOf);
  const names = [
    ...action.executions.flatMap(({ binary, wrapper = [] }) => [binary, ...wrapper.slice(0, 1)]),
    ...resolvers.flatMap(({ binary }) => binary ?? []),
  ];
  const programs = names.map((name) => ({ name, file: findProgram(name, path) }));
  const needsShell = resolvers.some(({ script }) => script !== undefined);
  return needsShell ? [...programs, { name: 'sh', file: findProgram('sh', ['/bin', ...path]) }] : programs;
}
