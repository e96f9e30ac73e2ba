// Turns the faults of a value into one error that a person or a model can act on (RUN-3, TOOL-22).

import { ToolError } from './error.js';
import { isRecord } from './json.js';
import type { Fault } from './schema.js';
import { listSome, nearest, quoteOutside } from './text.js';
import type { Tool } from './tool.js';

/** What is wrong with an input. */
export function describeFaults(tool: Pick<Tool, 'name' | 'input'>, faults: readonly Fault[]): ToolError {
  const declared = Object.keys(isRecord(tool.input.json.properties) ? tool.input.json.properties : {});
  const message = faults.map((fault) => describeFault(fault)).join('; ');
  return new ToolError('invalid_input', message, { hint: hintFor(tool, faults, declared), data: { faults } });
}

function describeFault({ path, expected, got }: Fault): string {
  const name = quoteOutside(path.slice(1), 80);
  if (got.startsWith('undeclared ')) return `unknown parameter "${name}"`;
  if (got === 'nothing') return `missing required parameter "${name}"`;
  return `${name === '' ? 'the input' : name} must be ${article(expected)}, got ${got}`;
}

function article(expected: string): string {
  if (!/^(?:string|number|integer|boolean|array|object|null)\b/.test(expected)) return expected;
  return `${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`;
}

function hintFor(tool: Pick<Tool, 'name'>, faults: readonly Fault[], declared: readonly string[]): string {
  const unknown = faults.find((fault) => fault.got.startsWith('undeclared '));
  const close = unknown ? nearest(unknown.path.slice(1), declared) : [];
  const takes =
    declared.length === 0 ? `${tool.name} takes no parameters` : `${tool.name} takes ${listSome(declared)}`;
  return close.length > 0 ? `did you mean ${close.join(', ')}? ${takes}` : takes;
}

/** What is wrong with an output; only the first fault stands in the message, since it is for the tool's author. */
export function describeOutputFaults(tool: string, faults: readonly Fault[]): ToolError {
  const { path, expected, got } = faults[0]!;
  return new ToolError(
    'invalid_output',
    `${tool} gave a wrong output${path === '' ? '' : ` at ${quoteOutside(path)}`}: expected ${expected}, got ${got}`,
    {
      hint: 'this is for the author of the tool: its output does not fit its own schema',
      data: { faults },
    },
  );
}
