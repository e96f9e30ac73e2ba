// A line of answer at the terminal: one question at a time, read in the terminal's own line mode.

import type { Terminal } from './terminal.js';

let last: Promise<unknown> = Promise.resolve();

/** Asks when all questions before are answered: tools may have several at once, and there is one terminal. */
export function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const answer = last.then(ask);
  last = answer.catch(() => {});
  return answer;
}

/** The narrowest width that is known: a line that the terminal itself wraps could be made to look like one of ours (A41). */
export function widthOf({ columns }: Terminal): number {
  return Math.max(40, Math.min(columns, process.stderr.columns || columns));
}

/** One line of standard input; its end is an empty answer. */
export function readLine(signal: AbortSignal, limit = 1000): Promise<string> {
  const { stdin } = process;
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
