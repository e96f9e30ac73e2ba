// Reads a line at the terminal without showing it.

import type { ReadStream } from 'node:tty';
import { readLine, type Terminal } from './terminal.js';

/** Returns the line with its end, like `readLine`. The prompt is shown once nothing is echoed any more. */
export async function readHidden(terminal: Terminal, prompt: string, signal: AbortSignal): Promise<string> {
  const stdin = terminal.io.stdin.stream() as Partial<ReadStream>;
  stdin.setRawMode?.(true);
  try {
    terminal.err(prompt);
    let text = '';
    for (;;) {
      // Without line editing of the system, each key arrives by itself.
      for (const key of await readLine(terminal, signal, 0)) {
        if (key === '\r' || key === '\n') return `${text}\n`;
        if (key === '\u0003' || key === '\u0004') return '';
        text = key === '\u007f' || key === '\b' ? text.slice(0, -1) : text + key;
      }
      if (signal.aborted || stdin.readableEnded === true) return '';
    }
  } finally {
    stdin.setRawMode?.(false);
    terminal.err('\n');
  }
}
