// The deno.json format: tasks of Deno.

import { ToolError } from '../../core/error.js';
import type { Format } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import { lineAt } from '../../core/text.js';
import { loadJsonc } from '../../files/libraries.js';
import { createTaskFormat, type Task, type Tasks } from '../shared/task-file.js';
import { describeTask, PLAIN_ARGS } from '../shared/task-input.js';
import { readTable, toSteps } from '../shared/task-text.js';
import { textsIn } from '../shared/task-words.js';

export function createDenoFormat(): Format {
  return createTaskFormat({
    name: 'deno',
    prefix: 'deno',
    files: ['deno.json', 'deno.jsonc'],
    parse: ({ text }) => parse(text),
  });
}

function parse(text: string): Tasks {
  const document = parseJsonc(text);
  const keys = { commands: ['command'], tasks: ['dependencies'], others: ['description'] };
  const read = (name: string, value: unknown): Task | string => {
    const { command, description, dependencies } = isRecord(value) ? value : { command: value };
    if (typeof command !== 'string' && dependencies === undefined) return 'it has no command';
    return {
      name,
      runs: textsIn([command, dependencies]),
      description: describeTask(description, typeof command === 'string' ? command : `deno task ${name}`),
      argv: ['deno', 'task', name, { param: 'args', allowDash: true }],
      input: PLAIN_ARGS,
    };
  };
  return readTable(isRecord(document) ? document.tasks : {}, read, (value) => toSteps(value, keys));
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
