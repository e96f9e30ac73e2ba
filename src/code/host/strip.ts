// Turns the text of a program into JavaScript: the body of an async function, with types removed.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { compile } from './compile.js';

const MAX_CHARACTERS = 256 * 1024;
// A comment at the end of the code with the line of the program for each line of the code, if they differ.
const LINES = '\n//# lines=';

/** Returns an expression whose value is the function. Throws `invalid_input` with the line of a syntax error. */
export async function toSource(code: string): Promise<string> {
  if (code.length > MAX_CHARACTERS) {
    throw new ToolError('too_large', `the program is longer than ${MAX_CHARACTERS / 1024}k characters`, {
      hint: 'pass data by tools and handles instead of writing it into the program',
    });
  }
  const compiled = await compile(`(async () => {${code}\n})`);
  // Also if no line changed: a program may end with such a comment of its own.
  if ('code' in compiled) return `${compiled.code}${LINES}${compiled.lines ?? ''}`;
  if ('fault' in compiled) throw syntaxError(compiled.fault, code.split('\n').length);
  throw new ToolError(
    'too_large',
    compiled.failure === 'slow' ? 'the program takes too long to compile' : 'the program is nested too deeply',
    { hint: 'write it with fewer nested types and expressions' },
  );
}

// The end of a program that misses something is found in the line after it.
function syntaxError(
  { message = 'syntax error', startLine }: { message?: string; startLine?: number },
  lines: number,
): ToolError {
  const line = startLine === undefined ? undefined : Math.min(startLine, lines);
  const at = line === undefined ? '' : ` at line ${line}`;
  return new ToolError('invalid_input', `the program has a syntax error${at}: ${quoteOutside(message, 200)}`, {
    hint: 'a program is the body of an async function, without import and export: return await tools.NAME({ … })',
    data: line === undefined ? {} : { line },
  });
}

/** Returns the line of the program for a line of its code. */
export function toProgramLine(source: string, line: number): number {
  const lines = source.slice(source.lastIndexOf(LINES) + LINES.length).split(',');
  return Number(lines[line - 1] || line);
}
