// Plans a declared command: program, arguments and resolvers.

import { dirname, resolve } from 'node:path';
import type { Execution, Mapping, Resolver } from '../../core/command.js';
import { ToolError } from '../../core/error.js';
import type { PlanContext } from '../../core/executor.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import type { CommandPlan, ProcessPlan, ResolverStep, Slot } from '../../core/plan.js';
import type { CommandAction, Tool } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { isWithin, realPath } from '../../files/within.js';
import { assertAllowlisted } from '../../policy/commands.js';
import { baseEnvironment, searchPath } from '../../process/environment.js';
import { findProgram } from '../../process/interpreter.js';
import { findLimiter, limitLauncher } from '../../process/limits.js';
import {
  type CommandInput,
  selectExecution,
  selectSubcommand,
  splitSubcommand,
  toArguments,
  toSlots,
} from './arguments.js';
import { assertDirectory, grantsOf } from './common.js';
import { findSkillScript } from './skill-script.js';

export interface PlanCommandOptions {
  readonly tool: Tool;
  readonly action: CommandAction;
  readonly input: Json;
  readonly context: PlanContext;
  readonly world: World;
}

export function planCommand(options: PlanCommandOptions): ProcessPlan {
  const { tool, action, input, context, world } = options;
  const { workdir, settings } = context.snapshot;
  assertDirectory(workdir);
  const path = pathOutside(workdir, world);
  const parameters: JsonObject = isRecord(input) ? (input as JsonObject) : {};
  const execution = selectExecution(fittingExecutions(action, path), parameters, tool.name);
  const slots = toSlots(execution, parameters);
  const subcommand = selectSubcommand(execution, slots);
  assertAllowlisted(action.allowlist, execution.binary, subcommand);
  const planResolver = (
    resolver: Resolver,
    slot: number,
    value: Json | undefined,
    param: string,
  ): ResolverStep => toStep({ ...options, resolver, slot, value, param, parameters, path });
  const command: CommandPlan = {
    allowlist: action.allowlist,
    execution,
    subcommand,
    slots,
    resolvers: slots.flatMap(({ mapping, value }, index) =>
      mapping.resolve === undefined || (value === undefined && !mapping.optional)
        ? []
        : [planResolver(mapping.resolve, index, value ?? '', mapping.param)],
    ),
    postProcess: execution.postProcess ? planResolver(execution.postProcess, -1, undefined, 'output') : null,
    roots: [workdir, ...settings.roots],
  };
  const binary = requireProgram(execution.binary, path);
  const shown = settleArguments({
    command,
    ...showPending(command),
    workdir,
    temporaryFile: () => '{temporary file}',
  });
  return {
    kind: 'process',
    tool,
    input,
    binary,
    launcher: limitLauncher(settings.limits, () => findLimiter(world.platform, path)),
    argv: shown.argv,
    command,
    cwd: shown.directory ?? workdir,
    environment: baseEnvironment(world, grantsOf(tool, settings)),
    stdin: shown.stdin,
    timeoutMs: context.timeoutMs,
    limits: settings.limits,
  };
}

// TJS-14: never a program of the checkout, even if PATH or a symbolic link leads there.
function pathOutside(workdir: string, world: World): string[] {
  const real = realPath(workdir) ?? workdir;
  return searchPath(world).filter(
    (directory) => !isWithin(workdir, directory) && !isWithin(real, realPath(directory) ?? directory),
  );
}

export interface SettleOptions {
  readonly command: CommandPlan;
  readonly slots: readonly Slot[];
  readonly workdir: string;
  readonly temporaryFile: (text: string) => string;
  /** Slots that a resolver will fill; their values are placeholders. */
  readonly pending?: ReadonlySet<number>;
}

/** Returns the command line, stdin and directory of slots. Throws `path_escape` for paths outside the roots. */
export function settleArguments(options: SettleOptions): CommandInput {
  const { command, slots, workdir, temporaryFile, pending = new Set() } = options;
  const settled = slots.filter((_, index) => !pending.has(index));
  const { argv, stdin } = toArguments(command.execution, slots, {
    temporaryFile: (_mapping, text) => temporaryFile(text),
  });
  const { directory: named } = toArguments(command.execution, settled, { temporaryFile: () => '' });
  const directory = named === undefined ? undefined : resolve(workdir, named);
  for (const { mapping, value } of settled) {
    if (mapping.kind === 'workingdir') assertContained(directory, mapping.param, workdir, command.roots);
    // Relative to the directory that the program runs in.
    else if (mapping.contained) {
      for (const path of pathsOf(mapping, value))
        assertContained(resolve(directory ?? workdir, path), mapping.param, workdir, command.roots);
    }
  }
  return {
    argv: [command.execution.binary, ...splitSubcommand(command.subcommand), ...argv],
    stdin,
    directory,
  };
}

function pathsOf({ split }: Mapping, value: Json | undefined): string[] {
  const all = (Array.isArray(value) ? value : [value]).filter((path) => typeof path === 'string');
  return split ? all.flatMap(splitSubcommand) : all;
}

// In the plan, a value that a resolver will provide is shown as its command (RUN-2).
function showPending({ slots, resolvers }: CommandPlan): { slots: Slot[]; pending: Set<number> } {
  const steps = new Map(resolvers.filter((step) => step.skipped === null).map((step) => [step.slot, step]));
  return {
    slots: slots.map((slot, index) => {
      const step = steps.get(index);
      if (step === undefined) return slot;
      return { mapping: { ...slot.mapping, split: false }, value: `{output of ${step.argv.join(' ')}}` };
    }),
    pending: new Set(steps.keys()),
  };
}

function fittingExecutions(action: CommandAction, path: readonly string[]): readonly Execution[] {
  if (action.executions.every(({ binGroup }) => binGroup === undefined)) return action.executions;
  const installed = action.binGroups.findIndex((group) =>
    group.every((name) => findProgram(name, path) !== undefined),
  );
  const fitting = action.executions.filter(
    ({ binGroup }) => binGroup === undefined || binGroup === installed,
  );
  if (fitting.length > 0) return fitting;
  const groups = action.binGroups.map((group) => group.join(' and ')).join(', or ');
  throw new ToolError('exec_failed', 'none of the programs that it can use is installed', {
    hint: groups === '' ? 'name them in metadata.requires.bins of SKILL.md' : `install ${groups}`,
  });
}

function requireProgram(name: string, path: readonly string[]): string {
  const found = findProgram(name, path);
  if (found !== undefined) return found;
  throw new ToolError('exec_failed', `command not found: ${name}`, {
    hint: 'install it, or add its directory to PATH',
    data: { binary: name },
  });
}

interface StepOptions extends PlanCommandOptions {
  readonly resolver: Resolver;
  readonly slot: number;
  readonly value: Json | undefined;
  readonly param: string;
  readonly parameters: JsonObject;
  readonly path: readonly string[];
}

function toStep(options: StepOptions): ResolverStep {
  const { resolver, slot, param, action, path } = options;
  const base = { param, slot, onFailure: resolver.onFailure, emptyIsResult: resolver.emptyIsResult };
  const skip = (reason: string): ResolverStep => ({ ...base, argv: [], skipped: reason, pair: null });
  const args = resolver.args.map((template) => fillTemplate(template, options));
  if (resolver.script !== undefined && scriptsRun(options)) {
    const script = findSkillScript(action.directory, resolver.script);
    if (script === undefined) return skip(`scripts/${resolver.script} is not a file of the skill`);
    const shell = findProgram('sh', ['/bin', ...path]);
    if (shell === undefined) return skip('sh is not installed');
    return { ...base, argv: [shell, script, ...args], skipped: null, pair: null };
  }
  if (resolver.binary === undefined) return skip('scripts are disabled (skills.allow-scripts)');
  assertAllowlisted(action.allowlist, resolver.binary, resolver.subcommand);
  for (const [index, text] of args.entries()) refuseDash(text, resolver.args[index]!, param, resolver.binary);
  const program = findProgram(resolver.binary, path);
  if (program === undefined) return skip(`command not found: ${resolver.binary}`);
  return {
    ...base,
    argv: [program, ...splitSubcommand(resolver.subcommand), ...args],
    skipped: null,
    pair: { binary: resolver.binary, subcommand: resolver.subcommand },
  };
}

// TJS-16: scripts of a checkout are code, so a setting of the project requires a trusted workspace.
function scriptsRun({ context, tool }: StepOptions): boolean {
  const { allowScripts } = context.snapshot.settings.skills;
  return (
    allowScripts === 'always' ||
    (allowScripts === 'trusted' && context.rules.trusted && tool.origin.owner === 'workspace')
  );
}

// TJS-18: `$param` is the current value, `$name` that of another parameter; anything else is left as is.
function fillTemplate(template: string, { value, parameters, tool }: StepOptions): string {
  const properties = tool.input.json.properties;
  return template.replace(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (match, name: string) => {
    if (name === 'param') return textOf(value);
    return isRecord(properties) && Object.hasOwn(properties, name) ? textOf(parameters[name]) : match;
  });
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function refuseDash(text: string, template: string, param: string, binary: string): void {
  if (!text.startsWith('-') || template.startsWith('-')) return;
  throw new ToolError('invalid_input', `${param} starts with "-": ${binary} could read it as an option`, {
    hint: 'use a value that does not start with "-"',
  });
}

// Checks the real path of the nearest existing directory; what does not exist yet cannot be a link.
function assertContained(
  path: string | undefined,
  param: string,
  workdir: string,
  roots: readonly string[],
): void {
  if (path === undefined) return;
  let existing = path;
  while (realPath(existing) === undefined && dirname(existing) !== existing) existing = dirname(existing);
  const real = realPath(existing) ?? existing;
  if (roots.some((root) => isWithin(realPath(root) ?? root, real))) return;
  throw new ToolError('path_escape', `${param} is outside ${workdir}`, {
    hint: 'use a path inside the working directory',
    data: { path },
  });
}
