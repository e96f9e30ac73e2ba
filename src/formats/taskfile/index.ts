// The Taskfile format: tasks of Task (taskfile.dev).

import { ToolError } from '../../core/error.js';
import type { Format } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { createTaskFormat, type Task, type Tasks } from '../shared/task-file.js';
import { ARGS, describeTask, toVariable } from '../shared/task-input.js';
import { parseYamlTasks, readTable } from '../shared/task-text.js';

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
  const found = readTable(document.tasks, (name, value) => {
    const body = isRecord(value) ? value : { cmds: value };
    if (body.internal === true) return undefined;
    if (name.includes('*')) return 'a pattern, not a name';
    return body.prompt === undefined ? toTask(name, body) : 'it asks for confirmation at a terminal';
  });
  const includes = isRecord(document.includes) ? Object.keys(document.includes) : [];
  return {
    ...found,
    findings:
      includes.length === 0
        ? []
        : [
            {
              message: `tasks of included files are left out: ${quoteOutside(includes.join(', '), 1000)}`,
              hint: 'name the files in tasks.from, or declare the tasks in the file itself',
            },
          ],
  };
}

// Variables that a task requires, and those that it gives a default, are parameters; `args` is what CLI_ARGS contains.
function toTask(name: string, body: Record<string, unknown>): Task {
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
    name,
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
        ...(takesArgs ? ARGS.properties : {}),
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
