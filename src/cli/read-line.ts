// Reads one line of an answer at the terminal.

import type { Terminal } from './terminal.js';

/** Returns the smaller known width: a line that the terminal itself wraps could be made to look like ours (A41). */
export function widthOf({ columns, io }: Terminal): number {
  return Math.max(40, Math.min(columns, io.stderr.columns || columns));
}

/** Reads one line of stdin; its end is an empty answer. */
export function readLine({ io }: Terminal, signal: AbortSignal, limit = 1000): Promise<string> {
  const stdin = io.stdin.stream();
  if (stdin.readableEnded || signal.aborted) return Promise.resolve('');
  return new Promise((resolve) => {
    let text = '';
    const end = (): void => {
      stdin.off('data', onData).off('end', end).off('error', end).pause();
      signal.removeEventListener('abort', end);
      resolve(text);
    };
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      if (text.includes('\n') || text.length > limit) end();
    };
    stdin.on('data', onData).once('end', end).once('error', end);
    signal.addEventListener('abort', end, { once: true });
    stdin.resume();
  });
}
