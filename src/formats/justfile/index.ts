// The justfile format: recipes with their parameters.

import type { Format } from '../../core/format.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { createTaskFormat, type TaskCommand, type Tasks } from '../shared/task-file.js';
import { describeTask, SHELL_SAFE, SHELL_SAFE_NOTE } from '../shared/task-input.js';
import { type JustParameter, type Recipe, readJustfile } from './read.js';

export function createJustfileFormat(): Format {
  return createTaskFormat({
    name: 'justfile',
    prefix: 'just',
    files: ['justfile', 'Justfile', 'JUSTFILE', '.justfile'],
    parse: ({ text }) => parse(text),
  });
}

function parse(text: string): Tasks {
  const { recipes, others } = readJustfile(text);
  return {
    tasks: recipes.map((recipe) => ({
      ...recipe,
      offer: recipe.isPrivate ? undefined : (recipe.fault ?? toCommand(recipe)),
    })),
    findings: others.map(({ line, name }) => ({
      line,
      message: `recipes of "${quoteOutside(name, 200)}" are left out: imports and modules are not followed`,
      hint: 'declare the recipes that you want to offer in the file itself',
    })),
  };
}

function toCommand({ name, about, parameters, group }: Recipe): TaskCommand {
  const of = group === undefined ? '' : ` (${group})`;
  return {
    description: `${describeTask(about, `just ${name}`)}${of}`,
    argv: ['just', name, ...parameters.map(({ name: param }) => ({ param }))],
    input: {
      type: 'object',
      properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, toSchema(parameter)])),
      required: parameters.filter(({ isRequired }) => isRequired).map((parameter) => parameter.name),
    },
  };
}

// just puts a value into the text of the recipe, unless it is quoted there or passed as an argument (TSK-6).
function toSchema({ fallback, isList, isRequired, isQuoted }: JustParameter): JsonSchema {
  const value: JsonSchema = { type: 'string', ...(isQuoted ? {} : { pattern: SHELL_SAFE }) };
  const notes = [...(fallback === undefined ? [] : [`Default: ${fallback}`]), ...(isQuoted ? [] : [SHELL_SAFE_NOTE])];
  const description: JsonSchema = notes.length === 0 ? {} : { description: notes.join('; ') };
  if (!isList) return { ...value, ...description };
  return { type: 'array', items: value, ...(isRequired ? { minItems: 1 } : {}), ...description };
}
