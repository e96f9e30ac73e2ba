// The Taskfile format: tasks of Task (taskfile.dev).

import { ToolError } from '../../core/error.js';
import type { Format } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { words } from '../../core/text.js';
import type { Steps } from '../shared/known-commands.js';
import { isPlainWord, VALUE } from '../shared/shell-text.js';
import { createTaskFormat, type Task, type TaskCommand, type Tasks } from '../shared/task-file.js';
import { ARGS, describeTask, PLAIN_ARGS, toVariable } from '../shared/task-input.js';
import { findIncluded, parseYamlTasks, readTable, toSteps } from '../shared/task-text.js';

const STEMS = ['Taskfile.yml', 'taskfile.yml', 'Taskfile.yaml', 'taskfile.yaml'];

export function createTaskfileFormat(): Format {
  return createTaskFormat({
    name: 'taskfile',
    prefix: 'task',
    files: [...STEMS, ...STEMS.map((name) => name.replace('.', '.dist.'))],
    parse: ({ text, file }) => parse(text, file),
  });
}

function parse(text: string, file: string): Tasks {
  const document = parseYamlTasks(text, file);
  if (!isRecord(document))
    throw new ToolError('invalid_definition', 'must be a mapping', { hint: 'write tasks: below version: "3"' });
  const args = isPlain(document) ? ARGS : PLAIN_ARGS;
  const toOffer = (name: string, value: unknown): Task['offer'] => {
    const body = isRecord(value) ? value : { cmds: value };
    if (body.internal === true) return undefined;
    if (name.includes('*')) return 'a pattern, not a name';
    return body.prompt === undefined ? toCommand(name, body, args) : 'it asks for confirmation at a terminal';
  };
  return {
    tasks: readTable(document.tasks, toOffer, stepsOf),
    findings: findIncluded(isRecord(document.includes) ? Object.keys(document.includes) : [], {
      what: 'tasks',
      hint: 'name the files in tasks.from, or declare the tasks in the file itself',
    }),
  };
}

const KEYS = {
  commands: ['command'],
  tasks: ['task'],
  others: words('desc summary silent internal aliases dir sources generates method run ignore_error'),
};

// A command is a text, `{ cmd: … }` or `{ task: … }`, and a dependency the name of a task.
function stepsOf(value: unknown): Steps | undefined {
  const { cmds, cmd, deps, ...others } = isRecord(value) ? value : { cmds: value };
  const commands = [cmds ?? cmd ?? []].flat().map((one: unknown) => {
    const { cmd: command, ...rest } = isRecord(one) ? one : { cmd: one };
    return command === undefined ? rest : { command, ...rest };
  });
  const needs = [deps ?? []].flat().map((one: unknown) => (isRecord(one) ? one : { task: one }));
  const parts = [others, ...commands, ...needs].map((part) => toSteps(part, KEYS));
  if (!parts.every((part) => part !== undefined)) return undefined;
  return {
    commands: parts.flatMap((part) => part.commands),
    tasks: parts.flatMap((part) => part.tasks).map((name) => name.replace(/^:/, '')),
  };
}

// Task quotes CLI_ARGS for a shell, and all tasks that a call runs can use them: each use must certainly be outside of quotes.
function isPlain(document: Record<string, unknown>): boolean {
  const commands = Object.values(isRecord(document.tasks) ? document.tasks : {}).flatMap((body) => {
    const listed = isRecord(body) ? (body.cmds ?? body.cmd) : body;
    return [listed].flat().map((one: unknown) => (isRecord(one) ? one.cmd : one));
  });
  const plain = commands
    .filter((one) => typeof one === 'string')
    .map((one) => one.replaceAll(/\{\{\s*\.CLI_ARGS\s*\}\}/g, VALUE))
    .filter((one) => one.includes(VALUE) && isPlainWord(one))
    .reduce((sum, one) => sum + one.split(VALUE).length - 1, 0);
  const all = JSON.stringify(document).split('CLI_ARGS').length - 1;
  return document.includes === undefined && plain === all;
}

// Variables that a task requires, and those that it gives a default, are parameters; `args` is what CLI_ARGS contains.
function toCommand(name: string, body: Record<string, unknown>, args: typeof ARGS | typeof PLAIN_ARGS): TaskCommand {
  const required = requiredOf(body.requires);
  const optional = Object.entries(isRecord(body.vars) ? body.vars : {}).flatMap(([variable, value]) =>
    typeof value === 'string' &&
    new RegExp(`\\{\\{-?\\s*\\.${variable}\\s*\\|\\s*default\\b`).test(value) &&
    !required.has(variable)
      ? [variable]
      : [],
  );
  const variables = [...required.keys(), ...optional].filter((variable) => /^[A-Za-z_]\w*$/.test(variable));
  const takesArgs = /\.CLI_ARGS\b/.test(JSON.stringify(body));
  return {
    description: describeTask(
      [body.desc, body.summary].find((one) => typeof one === 'string'),
      `task ${name}`,
    ),
    argv: [
      'task',
      name,
      ...variables.map((variable) => ({ param: variable, prefix: `${variable}=` })),
      ...(takesArgs ? ['--', { param: 'args', allowDash: true }] : []),
    ],
    input: {
      type: 'object',
      properties: {
        ...Object.fromEntries(variables.map((variable) => [variable, required.get(variable) ?? toVariable()])),
        ...(takesArgs ? args.properties : {}),
      },
      required: variables.filter((variable) => required.has(variable)),
    },
  };
}

// `requires: { vars: [NAME, { name: ENV, enum: [dev, prod] }] }`
function requiredOf(requires: unknown): ReadonlyMap<string, JsonSchema> {
  const vars = isRecord(requires) && Array.isArray(requires.vars) ? requires.vars : [];
  return new Map(
    vars.flatMap((one: unknown): [string, JsonSchema][] => {
      if (typeof one === 'string') return [[one, toVariable()]];
      if (!isRecord(one) || typeof one.name !== 'string') return [];
      const values = Array.isArray(one.enum) ? one.enum.filter((value) => typeof value === 'string') : [];
      return [[one.name, values.length === 0 ? toVariable() : { type: 'string', enum: values }]];
    }),
  );
}
