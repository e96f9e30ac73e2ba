// Turns the faults of an input or output into one error (RUN-3, TOOL-22).

import { ToolError } from '../core/error.js';
import { fieldsOf, otherFieldOf } from '../core/fields.js';
import type { Fault } from '../core/schema.js';
import { listSome, nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';

/** Creates the error for an input that does not match its schema. */
export function describeFaults(tool: Pick<Tool, 'name' | 'input'>, faults: readonly Fault[]): ToolError {
  const message = faults.map(describeFault).join('; ');
  return new ToolError('invalid_input', message, {
    hint: hintFor(tool, faults),
    data: { faults: faults.map(toData) },
  });
}

function describeFault({ kind, path, expected, got }: Fault): string {
  const name = quoteOutside(path.slice(1), 80);
  if (kind === 'unknown') return `unknown parameter "${name}"`;
  if (kind === 'missing') return `missing required parameter "${name}"`;
  return `${name === '' ? 'the input' : name} must be ${article(expected)}, got ${got}`;
}

function article(expected: string): string {
  if (!/^(?:string|number|integer|boolean|array|object|null)\b/.test(expected)) return expected;
  return `${/^[aeiou]/.test(expected) ? 'an' : 'a'} ${expected}`;
}

function hintFor({ name, input }: Pick<Tool, 'name' | 'input'>, faults: readonly Fault[]): string {
  const declared = fieldsOf(input.json, input.json).map((field) => field.name);
  const unknown = faults.find(({ kind }) => kind === 'unknown');
  const close = unknown ? nearest(unknown.path.slice(1), declared) : [];
  const none = otherFieldOf(input.json, input.json) === undefined ? 'no parameters' : 'any parameters';
  const takes = `${name} takes ${declared.length === 0 ? none : listSome(declared)}`;
  return close.length > 0 ? `did you mean ${close.join(', ')}? ${takes}` : takes;
}

/** Creates the error for an output that does not match its schema. The message names the first fault only. */
export function describeOutputFaults(tool: string, faults: readonly Fault[]): ToolError {
  const { path, expected, got, kind } = faults[0]!;
  const what = kind === 'missing' ? 'required' : `expected ${expected}, got ${got}`;
  return new ToolError(
    'invalid_output',
    `${tool} returned an invalid output${path === '' ? '' : ` at ${quoteOutside(path)}`}: ${what}`,
    { hint: 'fix the tool: its output does not match its own output schema', data: { faults: faults.map(toData) } },
  );
}

// Without the kind, which is not part of the documented data.
function toData({ path, expected, got }: Fault) {
  return { path, expected, got };
}
