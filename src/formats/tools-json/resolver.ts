// Reads the command of a tools.json that resolves a value.

import type { Resolver } from '../../core/command.js';
import { type Report, readShape, type Shape } from '../../core/strict-object.js';
import { quoteOutside } from '../../core/text.js';

export const COMMAND: Shape = {
  script: 'non-empty string',
  binary: 'non-empty string',
  subcommand: 'string',
  args: 'strings',
};
export const RESOLVER: Shape = { ...COMMAND, onFailure: 'non-empty string' };
const SCRIPT_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

export function optionalString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function readResolver(value: unknown, pointer: string, shape: Shape, report: Report): Resolver | undefined {
  if (value === undefined) return undefined;
  const entry = readShape(value, pointer, shape, report);
  if (entry === undefined) return undefined;
  const script = optionalString(entry.script);
  const binary = optionalString(entry.binary);
  if (script === undefined && binary === undefined)
    report(pointer, 'has neither a script nor a binary', 'add one of them');
  // TJS-16: a file name, never a path.
  if (script !== undefined && (!SCRIPT_NAME.test(script) || script.includes('..'))) {
    report(
      `${pointer}/script`,
      `"${quoteOutside(script, 60)}" is not the name of a file in scripts/`,
      'use a plain name, without separators',
    );
  }
  const { onFailure = 'keep' } = entry;
  if (onFailure !== 'keep' && onFailure !== 'reject') {
    report(`${pointer}/onFailure`, 'must be "keep" or "reject"', 'write "reject"');
  }
  return {
    script,
    binary,
    subcommand: optionalString(entry.subcommand) ?? '',
    args: (entry.args as string[] | undefined) ?? [],
    onFailure: onFailure === 'reject' ? 'reject' : 'keep',
    emptyIsResult: entry.emptyIsResult === true,
  };
}
