// Finds programs on the search path, and the interpreter of a shebang.

import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';

/** Returns the absolute path of a program on the search path, if there is one. */
export function findProgram(name: string, path: readonly string[]): string | undefined {
  if (name.includes('/')) return isAbsolute(name) && isExecutable(name) ? name : undefined;
  return path.map((directory) => join(directory, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Returns the absolute path of the interpreter of a shebang line (without `#!`), or of NAME for `env NAME`.
 * Throws `exec_failed` that quotes the line (EXE-8).
 */
export function findInterpreter(shebang: string, file: string, path: readonly string[]): string {
  const [first = '', ...rest] = shebang.split(/\s+/);
  const missing = (program: string): ToolError =>
    new ToolError('exec_failed', `interpreter not found: ${quoteOutside(program)}`, {
      hint: `install it, or change the first line of ${file}, which is "#!${quoteOutside(shebang)}"`,
      data: { shebang, interpreter: program },
    });
  const interpreter = isAbsolute(first) ? findProgram(first, []) : undefined;
  if (interpreter === undefined) throw missing(first);
  if (!/\/env$/.test(first)) return interpreter;
  const program = rest.find((word) => !word.startsWith('-') && !word.includes('='));
  if (program === undefined) return interpreter;
  const found = findProgram(program, path);
  if (found === undefined) throw missing(program);
  return found;
}
