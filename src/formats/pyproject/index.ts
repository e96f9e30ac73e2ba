// The pyproject.toml format: tasks of Poe the Poet and scripts of PDM.

import type { Format } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import type { RootParameter } from '../shared/root-file.js';
import { createTaskFormat, type Task, type TaskCommand } from '../shared/task-file.js';
import { ARGS, describeTask, PLAIN_ARGS } from '../shared/task-input.js';
import { parseTomlTable, readTable, toSteps } from '../shared/task-text.js';

export function createPyprojectFormat(): Format {
  return createTaskFormat({
    name: 'pyproject',
    prefix: 'poe',
    runner: ['poe', 'pdm'],
    files: ['pyproject.toml'],
    parse: ({ text }) => ({ tasks: parse(text) }),
  });
}

function parse(text: string): Task[] {
  const { tool } = parseTomlTable(text);
  const { poe, pdm } = isRecord(tool) ? tool : {};
  const unlessPrivate = (read: (name: string, value: unknown) => Task['offer']) => (name: string, value: unknown) =>
    name.startsWith('_') ? undefined : read(name, value);
  const ofPoe = readTable(isRecord(poe) ? poe.tasks : {}, unlessPrivate(toPoeTask), (value) =>
    // A list is a sequence of tasks.
    toSteps(Array.isArray(value) ? { sequence: value } : value, POE),
  );
  const scripts = isRecord(pdm) && isRecord(pdm.scripts) ? pdm.scripts : {};
  const ofPdm = readTable(scripts, unlessPrivate(toPdmTask), (value, name) => {
    const hooks = [`pre_${name}`, `post_${name}`].filter((hook) => Object.hasOwn(scripts, hook));
    return toSteps({ ...(isRecord(value) ? value : { cmd: value }), hooks }, PDM);
  });
  return [...ofPoe, ...ofPdm];
}

const POE = { commands: ['cmd', 'shell'], tasks: ['sequence', 'ref', 'deps'], others: ['help', 'args', 'env', 'cwd'] };
const PDM = { commands: ['cmd', 'shell'], tasks: ['composite', 'hooks'], others: ['help', 'env'] };

function runsOf(value: unknown, keys: readonly string[], otherwise: string): string {
  if (typeof value === 'string') return value;
  const text = isRecord(value) ? keys.map((key) => value[key]).find((one) => typeof one === 'string') : undefined;
  return typeof text === 'string' ? text : otherwise;
}

function helpOf(value: unknown): unknown {
  return isRecord(value) ? value.help : undefined;
}

function toPdmTask(name: string, value: unknown): TaskCommand {
  return {
    prefix: 'pdm',
    description: describeTask(helpOf(value), runsOf(value, ['cmd', 'shell', 'call'], `pdm run ${name}`)),
    argv: ['pdm', 'run', name, { param: 'args', allowDash: true }],
    input: PLAIN_ARGS,
  };
}

function toPoeTask(name: string, value: unknown): TaskCommand | string {
  const description = describeTask(helpOf(value), runsOf(value, ['cmd', 'shell', 'script', 'expr'], `poe ${name}`));
  const declared = argumentsOf(value);
  if (declared === undefined)
    return { description, argv: ['poe', name, { param: 'args', allowDash: true }], input: ARGS };
  const missing = declared.find(({ isRequired, schema }) => isRequired && schema === undefined);
  if (missing !== undefined) return `its argument "${missing.name}" cannot be passed`;
  const usable = declared.filter(({ schema }) => schema !== undefined);
  // Options first: a list of positional arguments takes all that follow.
  const ordered = [
    ...usable.filter(({ option }) => option !== undefined),
    ...usable.filter(({ option }) => option === undefined),
  ];
  return {
    description,
    argv: [
      'poe',
      name,
      ...ordered.map(
        ({ name: param, option }): RootParameter =>
          option === undefined ? { param } : { param, prefix: `${option}=`, allowDash: true },
      ),
    ],
    input: {
      type: 'object',
      properties: Object.fromEntries(usable.map((one) => [one.name, one.schema!])),
      required: usable.filter(({ isRequired }) => isRequired).map((one) => one.name),
    },
  };
}

interface Argument {
  readonly name: string;
  /** The option before its value; a positional argument has none. */
  readonly option: string | undefined;
  readonly isRequired: boolean;
  /** Undefined for a flag, which has no value. */
  readonly schema: JsonSchema | undefined;
}

// `args = ["name", { name = "env", options = ["--env"], default = "dev" }]`, or a table by name.
function argumentsOf(value: unknown): readonly Argument[] | undefined {
  const args = isRecord(value) ? value.args : undefined;
  if (Array.isArray(args))
    return args.flatMap((one: unknown) => toArgument(typeof one === 'string' ? { name: one } : one));
  if (!isRecord(args)) return undefined;
  return Object.entries(args).flatMap(([name, one]) => toArgument({ ...(isRecord(one) ? one : {}), name }));
}

const TYPES: Readonly<Record<string, string>> = { string: 'string', integer: 'integer', float: 'number' };

function toArgument(given: unknown): Argument[] {
  if (!isRecord(given) || typeof given.name !== 'string') return [];
  const { name, options, positional, help, multiple, required, default: fallback } = given;
  const isPositional = positional === true || typeof positional === 'string';
  const isList = multiple !== undefined && multiple !== false;
  const flags = Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [];
  const long = flags.find((one) => one.startsWith('--')) ?? (flags.length > 0 ? undefined : `--${name}`);
  const option = isPositional ? undefined : long;
  const type = TYPES[typeof given.type === 'string' ? given.type : 'string'];
  const notes = [
    ...(typeof help === 'string' ? [help] : []),
    ...(fallback === undefined ? [] : [`Default: ${String(fallback)}`]),
  ];
  const isUsable = isPositional || (option !== undefined && !isList);
  const schema: JsonSchema | undefined =
    type === undefined || !isUsable
      ? undefined
      : {
          ...(isList ? { type: 'array', items: { type } } : { type }),
          ...(notes.length > 0 && { description: notes.join('; ') }),
        };
  const isRequired = required === true || (isPositional && required !== false && fallback === undefined && !isList);
  return [{ name, option, isRequired, schema }];
}
