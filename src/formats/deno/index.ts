// The deno.json format: tasks of Deno.

import { ToolError } from '../../core/error.js';
import type { Format } from '../../core/format.js';
import { isRecord, mapValues } from '../../core/json.js';
import { lineAt } from '../../core/text.js';
import { loadJsonc } from '../../files/libraries.js';
import { createTaskFormat, type Task } from '../shared/task-file.js';
import { describeTask, PLAIN_ARGS } from '../shared/task-input.js';
import { readTable, toSteps } from '../shared/task-text.js';

export function createDenoFormat(): Format {
  return createTaskFormat({
    name: 'deno',
    prefix: 'deno',
    files: ['deno.json', 'deno.jsonc'],
    parse: ({ text }) => ({ tasks: parse(text) }),
  });
}

const KEYS = { commands: ['command'], tasks: ['dependencies'], others: ['description'] };

function parse(text: string): Task[] {
  const document = parseJsonc(text);
  const tasks = isRecord(document) && isRecord(document.tasks) ? document.tasks : {};
  const toOffer = (name: string): Task['offer'] => {
    const value = tasks[name];
    const { command, description, dependencies } = isRecord(value) ? value : { command: value };
    if (typeof command !== 'string' && dependencies === undefined) return 'it has no command';
    return {
      description: describeTask(description, typeof command === 'string' ? command : `deno task ${name}`),
      argv: ['deno', 'task', name, { param: 'args', allowDash: true }],
      input: PLAIN_ARGS,
    };
  };
  const run = mapValues(tasks, (value) => (isRecord(value) ? [value.command, value.dependencies] : value));
  return readTable(run, toOffer, (_, name) => toSteps(tasks[name], KEYS));
}

// Comments and trailing commas are allowed in both files.
function parseJsonc(text: string): unknown {
  const { parse: read, printParseErrorCode } = loadJsonc();
  const errors: import('jsonc-parser').ParseError[] = [];
  const document: unknown = read(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return document;
  throw new ToolError('invalid_definition', `is not valid JSON: ${printParseErrorCode(first.error)}`, {
    hint: 'fix the line',
    data: { line: lineAt(text, first.offset) },
  });
}
