// Plans a declared command: program, arguments and resolvers.

import { delimiter } from 'node:path';
import type { Execution, Resolver } from '../../core/command.js';
import { ToolError } from '../../core/error.js';
import type { PlanContext } from '../../core/executor.js';
import { isRecord, type Json, type JsonObject, showValue } from '../../core/json.js';
import type { CommandPlan, ProcessPlan, ResolverStep, Slot } from '../../core/plan.js';
import type { World } from '../../core/snapshot.js';
import type { CommandAction, ProcessAction, Tool } from '../../core/tool.js';
import { statIdentity } from '../../files/read.js';
import { realPath } from '../../files/within.js';
import { assertAllowlisted } from '../../policy/commands.js';
import {
  assertDirectory,
  baseEnvironment,
  findLimiter,
  findProgram,
  grantsOf,
  limitLauncher,
  pathOutside,
  searchPath,
} from '../../process/environment.js';
import {
  type CommandInput,
  containedValues,
  containSlots,
  selectExecution,
  selectSubcommand,
  splitWords,
  toArguments,
  toSlots,
} from './arguments.js';
import { assertNotDenied } from './deny.js';
import { findSkillScript } from './integrity.js';

/** What a process is planned from. */
export interface PlanOptions<Action extends ProcessAction> {
  readonly tool: Tool;
  readonly action: Action;
  readonly input: Json;
  readonly context: PlanContext;
  readonly world: World;
}

export function planCommand(options: PlanOptions<CommandAction>): ProcessPlan {
  const { tool, action, input, context, world } = options;
  const { workdir, settings } = context.snapshot;
  assertDirectory(workdir);
  // Never a program of the checkout.
  const path = pathOutside(workdir, world);
  const parameters: JsonObject = isRecord(input) ? (input as JsonObject) : {};
  const execution = selectExecution(fittingExecutions(action, path), parameters, tool.name);
  const roots = [workdir, ...settings.roots];
  const given = toSlots(execution, parameters);
  // Before paths become absolute (TJS-12, TJS-13).
  toArguments(
    execution,
    given.filter(({ mapping }) => mapping.resolve === undefined),
  );
  const { slots } = containSlots(given, { workdir, roots, isFinal: ({ mapping }) => !mapping.resolve });
  const subcommand = selectSubcommand(execution, slots);
  assertAllowlisted(action.allowlist, execution.binary, subcommand);
  const checked = { ...parameters, ...containedValues(slots) };
  const planResolver = (resolver: Resolver, slot: number, value: Json | undefined, param: string): ResolverStep =>
    toStep({ ...options, resolver, slot, value, param, parameters: checked, path });
  const resolvers = slots.flatMap(({ mapping, value }, index) =>
    mapping.resolve === undefined || (value === undefined && !mapping.optional)
      ? []
      : [planResolver(mapping.resolve, index, value ?? '', mapping.param)],
  );
  const pending = new Set(resolvers.filter(({ skipped }) => skipped === null).map(({ slot }) => slot));
  const contained = containSlots(slots, { workdir, roots, isFinal: (_, index) => !pending.has(index) });
  const denials = slots.flatMap(({ mapping, value }, index) =>
    mapping.deny?.resolve === undefined ? [] : [planResolver(mapping.deny.resolve, index, value ?? '', mapping.param)],
  );
  const command: CommandPlan = {
    allowlist: action.allowlist,
    execution,
    subcommand,
    words: splitWords(subcommand),
    denials,
    slots: contained.slots,
    resolvers,
    postProcess: execution.postProcess ? planResolver(execution.postProcess, -1, undefined, 'output') : null,
    roots,
    base: contained.directory ?? realPath(workdir) ?? workdir,
  };
  const [starter = execution.binary] = execution.wrapper ?? [];
  const binary = requireProgram(starter, path, world);
  const shown = settleArguments(command, showPending(command), () => '{temporary file}');
  // Refused before anyone is asked for approval.
  assertNotDenied(input, contained.slots);
  return {
    kind: 'process',
    tool,
    input,
    binary,
    identity: statIdentity(binary),
    launcher: limitLauncher(settings.limits, () => findLimiter(world.platform, path)),
    argv: shown.argv,
    command,
    cwd: contained.directory ?? workdir,
    environment: {
      ...baseEnvironment(world, grantsOf(tool, settings)),
      // The wrapper looks for the program, and must not find one of the checkout (TJS-27).
      ...(execution.wrapper === undefined ? {} : { PATH: path.join(delimiter) }),
      ...shown.variables,
    },
    stdin: shown.stdin,
    timeoutMs: context.timeoutMs,
    limits: settings.limits,
  };
}

/** Returns the command line and stdin of slots whose paths are canonical. */
export function settleArguments(
  { execution, words }: CommandPlan,
  slots: readonly Slot[],
  temporaryFile: (text: string) => string,
): Omit<CommandInput, 'directory'> {
  const { argv, stdin, variables } = toArguments(execution, slots, temporaryFile);
  const { wrapper = [], binary } = execution;
  return { argv: [...wrapper, binary, ...words, ...argv], stdin, variables };
}

// In the plan, a value that a resolver will provide is shown as its command (RUN-2).
function showPending({ slots, resolvers }: CommandPlan): Slot[] {
  const steps = new Map(resolvers.filter((step) => step.skipped === null).map((step) => [step.slot, step]));
  return slots.map((slot, index) => {
    const step = steps.get(index);
    if (step === undefined) return slot;
    return { mapping: { ...slot.mapping, split: false }, value: `{output of ${step.argv.join(' ')}}` };
  });
}

function fittingExecutions(action: CommandAction, path: readonly string[]): readonly Execution[] {
  if (action.executions.every(({ binGroup }) => binGroup === undefined)) return action.executions;
  const installed = action.binGroups.findIndex((group) => group.every((name) => findProgram(name, path) !== undefined));
  const fitting = action.executions.filter(({ binGroup }) => binGroup === undefined || binGroup === installed);
  if (fitting.length > 0) return fitting;
  const groups = action.binGroups.map((group) => group.join(' and ')).join(', or ');
  throw new ToolError('exec_failed', 'none of the programs that it can use is installed', {
    hint: groups === '' ? 'name them in metadata.requires.bins of SKILL.md' : `install ${groups}`,
  });
}

function requireProgram(name: string, path: readonly string[], world: World): string {
  const found = findProgram(name, path);
  if (found !== undefined) return found;
  const isInWorkdir = findProgram(name, searchPath(world)) !== undefined;
  throw new ToolError('exec_failed', `command not found: ${name}`, {
    hint: isInWorkdir
      ? 'it is in the workdir, whose programs are not started by name; install it elsewhere'
      : 'install it, or add its directory to PATH',
    data: { binary: name },
  });
}

interface StepOptions extends PlanOptions<CommandAction> {
  readonly resolver: Resolver;
  readonly slot: number;
  readonly value: Json | undefined;
  readonly param: string;
  readonly parameters: JsonObject;
  readonly path: readonly string[];
}

function toStep(options: StepOptions): ResolverStep {
  const { resolver, slot, param, action, path } = options;
  const directories = resolver.args.flatMap((template, index) => (template === '$workingDir' ? [index] : []));
  const base = { param, slot, onFailure: resolver.onFailure, emptyIsResult: resolver.emptyIsResult };
  const placed = (before: number): Pick<ResolverStep, 'directoryAt'> =>
    directories.length === 0 ? {} : { directoryAt: directories.map((index) => index + before) };
  const skip = (reason: string): ResolverStep => ({ ...base, argv: [], skipped: reason, pair: null });
  const args = resolver.args.map((template) => fillTemplate(template, options));
  if (resolver.script !== undefined && scriptsRun(options)) {
    const script = findSkillScript(action.directory, resolver.script);
    if (script === undefined) return skip(`scripts/${resolver.script} is not a file of the skill`);
    const shell = findProgram('sh', ['/bin', ...path]);
    if (shell === undefined) return skip('sh is not installed');
    return { ...base, ...placed(2), argv: [shell, script, ...args], skipped: null, pair: null };
  }
  if (resolver.binary === undefined) return skip('scripts are disabled (skills.allow-scripts)');
  assertAllowlisted(action.allowlist, resolver.binary, resolver.subcommand);
  for (const [index, text] of args.entries()) refuseDash(text, resolver.args[index]!, param, resolver.binary);
  const program = findProgram(resolver.binary, path);
  if (program === undefined) return skip(`command not found: ${resolver.binary}`);
  const words = splitWords(resolver.subcommand);
  return {
    ...base,
    ...placed(1 + words.length),
    argv: [program, ...words, ...args],
    skipped: null,
    pair: { binary: resolver.binary, subcommand: resolver.subcommand },
  };
}

// TJS-16: scripts of a checkout are code, so a setting of the project requires a trusted workspace.
function scriptsRun({ context, tool }: StepOptions): boolean {
  const { allowScripts } = context.snapshot.settings.skills;
  return (
    allowScripts === 'always' ||
    (allowScripts === 'trusted' && context.rules.trusted() && tool.origin.owner === 'workspace')
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
  return value === undefined || value === null ? '' : showValue(value);
}

function refuseDash(text: string, template: string, param: string, binary: string): void {
  if (!text.startsWith('-') || template.startsWith('-')) return;
  throw new ToolError('invalid_input', `${param} starts with "-": ${binary} could read it as an option`, {
    hint: 'use a value that does not start with "-"',
  });
}
