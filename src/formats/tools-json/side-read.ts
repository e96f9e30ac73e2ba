// Reads what an execution of a tools.json adds to its output: nearby files and hints.

import type { OutputHint, SideRead } from '../../core/command.js';
import type { Json } from '../../core/json.js';
import { type Report, readShape, type Shape } from '../../core/strict-object.js';
import { quoteOutside } from '../../core/text.js';
import { optionalString } from './resolver.js';

const SIDE_READ: Shape = {
  pathParam: '!non-empty string',
  filename: '!non-empty string',
  label: 'non-empty string',
  oncePerSession: 'boolean',
};
const HINT: Shape = {
  hint: '!non-empty string',
  match: 'string',
  exitCode: 'value',
  notEmpty: 'boolean',
  whenArg: 'object',
};

// TJS-28: a name, never a path.
export function readSideRead(value: unknown, pointer: string, report: Report): SideRead | undefined {
  if (value === undefined) return undefined;
  const entry = readShape(value, pointer, SIDE_READ, report);
  if (entry === undefined) return undefined;
  const file = entry.filename as string;
  if (/[/\\\0]/.test(file) || file.includes('..') || file === '.') {
    report(`${pointer}/filename`, `"${quoteOutside(file, 60)}" is not a file name`, 'write a name without separators');
    return undefined;
  }
  return {
    param: entry.pathParam as string,
    file,
    label: optionalString(entry.label) ?? file,
    oncePerSession: entry.oncePerSession === true,
  };
}

export function readHint(value: unknown, pointer: string, report: Report): OutputHint | undefined {
  const entry = readShape(value, pointer, HINT, report);
  if (entry === undefined) return undefined;
  const { match, exitCode, notEmpty, whenArg } = entry;
  if (exitCode !== undefined && exitCode !== 'nonzero' && !Number.isSafeInteger(exitCode)) {
    report(`${pointer}/exitCode`, 'must be a number or "nonzero"', 'write "nonzero"');
    return undefined;
  }
  if (match === undefined && exitCode === undefined && notEmpty !== true && whenArg === undefined) {
    report(pointer, 'a hint without a condition', 'add match, exitCode, notEmpty or whenArg');
    return undefined;
  }
  return {
    hint: entry.hint as string,
    match: optionalString(match),
    exitCode: exitCode as number | 'nonzero' | undefined,
    notEmpty: notEmpty === true,
    whenArg: (whenArg as Record<string, Json> | undefined) ?? {},
  };
}
