// The Makefile format: targets that are not files.

import type { Format } from '../../core/format.js';
import type { JsonSchema } from '../../core/schema.js';
import { listSome, quoteOutside } from '../../core/text.js';
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
  const { targets, unlisted, variables, settable, leftOut, includes } = readMakefile(text);
  return {
    tasks: targets.map((target) => toTask(target, variables, settable)),
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

// Parameters are variables with a default (`NAME ?= value`) that the recipe uses.
function toTask(target: Target, variables: ReadonlyMap<string, string>, settable: ReadonlySet<string>): Task {
  const { name, line, about, recipe, runs, steps } = target;
  const used = [...variables.keys()].filter(
    (variable) => settable.has(variable) && new RegExp(`\\$[({]${variable}[)}]`).test(recipe),
  );
  const description = describeTask(about, `make ${name}`);
  if (used.length === 0 && settable.size === 0) return { name, line, runs, steps, description, argv: ['make', name] };
  if (used.length === 0)
    return {
      name,
      line,
      runs,
      steps,
      description,
      argv: ['make', name, { param: 'args' }],
      input: assignments(settable),
    };
  return {
    name,
    line,
    runs,
    steps,
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
function assignments(settable: ReadonlySet<string>): JsonSchema {
  return {
    type: 'object',
    properties: {
      args: {
        type: 'array',
        items: {
          type: 'string',
          pattern: SHELL_SAFE.replace('^(?:', `^(?:${[...settable].join('|')})=(?:`),
        },
        description: `Variables, each NAME=value: ${listSome([...settable], String)}; ${SHELL_SAFE_NOTE}`,
      },
    },
  };
}
