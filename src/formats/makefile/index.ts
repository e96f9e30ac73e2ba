// The Makefile format: targets that are not files.

import type { Format } from '../../core/format.js';
import type { JsonSchema } from '../../core/schema.js';
import { listSome } from '../../core/text.js';
import { createTaskFormat, type TaskCommand, type Tasks } from '../shared/task-file.js';
import { describeTask, SHELL_SAFE, SHELL_SAFE_NOTE, toVariable } from '../shared/task-input.js';
import { findIncluded } from '../shared/task-text.js';
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
  const { targets, variables, settable, includes } = readMakefile(text);
  return {
    tasks: targets.map((target) => ({
      ...target,
      offer: target.isTask ? (target.fault ?? toCommand(target, variables, settable)) : undefined,
    })),
    findings: findIncluded(
      includes.map(({ name }) => name),
      {
        what: 'targets',
        hint: 'declare the targets that you want to offer in the file itself',
        line: includes[0]?.line,
      },
    ),
  };
}

// Parameters are variables with a default (`NAME ?= value`) that the recipe uses.
function toCommand(
  { name, about, recipe }: Target,
  variables: ReadonlyMap<string, string>,
  settable: ReadonlySet<string>,
): TaskCommand {
  const used = [...variables.keys()].filter(
    (variable) => settable.has(variable) && new RegExp(`\\$[({]${variable}[)}]`).test(recipe),
  );
  const description = describeTask(about, `make ${name}`);
  if (used.length > 0)
    return {
      description,
      argv: ['make', name, ...used.map((variable) => ({ param: variable, prefix: `${variable}=` }))],
      input: {
        type: 'object',
        properties: Object.fromEntries(
          used.map((variable) => [variable, toVariable([`Default: ${variables.get(variable) || 'empty'}`])]),
        ),
      },
    };
  if (settable.size === 0) return { description, argv: ['make', name] };
  return { description, argv: ['make', name, { param: 'args' }], input: assignments(settable) };
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
