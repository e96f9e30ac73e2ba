// Reads the input of a call from a flag, a file or stdin, with a size limit.

import { ToolError } from '../core/error.js';
import { INPUT_BOUNDS } from '../core/json.js';
import { formatBytes, quoteOutside } from '../core/text.js';
import { readHead } from '../files/read.js';
import { resolvePath } from './io.js';
import type { Terminal } from './terminal.js';

/** What `--input` is called in an error: the file that it names. */
export function inputName(source: string): string {
  return source.startsWith('@') ? quoteOutside(source.slice(1), 200) : '--input';
}

/** Reads the value of `--input`: JSON, `@FILE`, or `-` for stdin. */
export async function readInput(source: string, terminal: Terminal, signal: AbortSignal): Promise<string> {
  if (source === '-') {
    const text = await readStdin(terminal, signal);
    return text.trim() === '' ? '{}' : text;
  }
  if (!source.startsWith('@')) return source;
  const path = source.slice(1);
  const reading = readHead(resolvePath(terminal.io, path), INPUT_BOUNDS.maxBytes);
  if ('fault' in reading) {
    throw new ToolError('io', `cannot read ${path}: ${reading.message}`, { hint: 'check the path after @' });
  }
  if (!reading.complete) throw inputTooLarge(path);
  return reading.bytes.toString('utf8');
}

/** Reads all of stdin; prints a notice if nothing arrives for a while. */
export async function readStdin(terminal: Terminal, signal: AbortSignal, what = 'JSON'): Promise<string> {
  const notice = setTimeout(() => {
    const skip = what === 'JSON' ? ", --input '{}' skips it" : '';
    terminal.err(`reading ${what} from stdin; Ctrl-D ends it${skip}\n`);
  }, 2000);
  // Imported on demand: loading streams takes milliseconds.
  const { addAbortSignal } = await import('node:stream');
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of addAbortSignal(signal, terminal.io.stdin.stream()) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > INPUT_BOUNDS.maxBytes) throw inputTooLarge('standard input');
      chunks.push(chunk);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new ToolError('cancelled', 'interrupted while reading standard input', {
      hint: `pass --input '{}' to skip stdin`,
    });
  } finally {
    clearTimeout(notice);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function inputTooLarge(what: string): ToolError {
  return new ToolError('too_large', `${what} is larger than ${formatBytes(INPUT_BOUNDS.maxBytes)}`, {
    hint: 'pass the path of a file to the tool instead',
  });
}
