// Turns the faults of an input into one error that a person or a model can act on (RUN-3).

import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { Fault } from '../core/schema.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';

export function describeFaults(tool: Tool, faults: readonly Fault[]): ToolError {
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

function hintFor(tool: Tool, faults: readonly Fault[], declared: readonly string[]): string {
  const unknown = faults.find((fault) => fault.got.startsWith('undeclared '));
  const close = unknown ? nearest(unknown.path.slice(1), declared) : [];
  const takes =
    declared.length === 0 ? `${tool.name} takes no parameters` : `${tool.name} takes ${declared.join(', ')}`;
  return close.length > 0 ? `did you mean ${close.join(', ')}? ${takes}` : takes;
}
