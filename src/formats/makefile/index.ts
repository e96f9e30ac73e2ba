// The Makefile format: targets that are not files.

import type { Format } from '../../core/format.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { createTaskFormat, type Task, type Tasks } from '../shared/task-file.js';
import { describeTask, SHELL_SAFE, SHELL_SAFE_NOTE, toVariable } from '../shared/task-input.js';
import { readMakefile, type Target } from './read.js';

export function createMakefileFormat(): Format {
  return createTaskFormat({
    name: 'makefile',
    prefix: 'make',
    files: ['GNUmakefile', 'makefile', 'Makefile'],
    parse: ({ text }) => parse(text),
  });
}

function parse(text: string): Tasks {
  const { targets, unlisted, variables, programs, leftOut, includes } = readMakefile(text);
  return {
    tasks: targets.map((target) => toTask(target, variables, programs)),
    leftOut,
    unlisted,
    findings:
      includes.length === 0
        ? []
        : [
            {
              line: includes[0]!.line,
              message: `targets of included files are left out: ${quoteOutside(includes.map(({ name }) => name).join(', '), 1000)}`,
              hint: 'declare the targets that you want to offer in the file itself',
            },
          ],
  };
}

// Variables that change what make itself does.
const OF_MAKE = [
  'SHELL',
  'MAKE',
  'MAKEFLAGS',
  'MAKEFILES',
  'MAKEFILE_LIST',
  'MAKECMDGOALS',
  'MFLAGS',
  'GNUMAKEFLAGS',
  'CURDIR',
  'VPATH',
];

// Parameters are variables with a default (`NAME ?= value`) that the recipe uses, but not as a program.
function toTask(target: Target, variables: ReadonlyMap<string, string>, programs: ReadonlySet<string>): Task {
  const { name, line, about, recipe, runs } = target;
  const used = [...variables.keys()].filter(
    (variable) =>
      new RegExp(`\\$[({]${variable}[)}]`).test(recipe) && !programs.has(variable) && !OF_MAKE.includes(variable),
  );
  const description = describeTask(about, `make ${name}`);
  if (used.length === 0)
    return { name, line, runs, description, argv: ['make', name, { param: 'args' }], input: assignments(programs) };
  return {
    name,
    line,
    runs,
    description,
    argv: ['make', name, ...used.map((variable) => ({ param: variable, prefix: `${variable}=` }))],
    input: {
      type: 'object',
      properties: Object.fromEntries(
        used.map((variable) => [variable, toVariable([`Default: ${variables.get(variable) || 'empty'}`])]),
      ),
    },
  };
}

// Other arguments of make are options and targets, with which anything runs.
function assignments(programs: ReadonlySet<string>): JsonSchema {
  return {
    type: 'object',
    properties: {
      args: {
        type: 'array',
        items: {
          type: 'string',
          pattern: SHELL_SAFE.replace('^(?:', '^[A-Za-z_][A-Za-z0-9_]*=(?:'),
          not: { pattern: `^(?:${[...OF_MAKE, ...programs].join('|')})=` },
        },
        description: `Variables, each NAME=value: ${SHELL_SAFE_NOTE}`,
      },
    },
  };
}
