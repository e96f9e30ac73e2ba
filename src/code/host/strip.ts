// Turns the text of a program into JavaScript: the body of an async function, with types removed.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';

const MAX_CHARACTERS = 256 * 1024;

/** Returns an expression whose value is the function. Throws `invalid_input` with the line of a syntax error. */
export async function toSource(code: string): Promise<string> {
  if (code.length > MAX_CHARACTERS) {
    throw new ToolError('too_large', `the program is longer than ${MAX_CHARACTERS / 1024}k characters`, {
      hint: 'pass data by tools and handles instead of writing it into the program',
    });
  }
  const { transformSync } = await import('@swc/wasm-typescript');
  const text = `(async () => {${code}\n})`;
  try {
    // Keeps lines and columns; enums, for example, are not types and need the other mode.
    return transformSync(text, { mode: 'strip-only', module: true }).code;
  } catch {
    try {
      return transformSync(text, { mode: 'transform', module: true }).code;
    } catch (error) {
      throw syntaxError(error as { message?: string; startLine?: number });
    }
  }
}

function syntaxError({ message = 'syntax error', startLine }: { message?: string; startLine?: number }): ToolError {
  const at = startLine === undefined ? '' : ` at line ${startLine}`;
  return new ToolError('invalid_input', `the program has a syntax error${at}: ${quoteOutside(message, 200)}`, {
    hint: 'a program is the body of an async function, without import and export: return await tools.NAME({ … })',
    data: startLine === undefined ? {} : { line: startLine },
  });
}
