// The line at a terminal that says whom one waits for; the next one writes over it, and none wipes it (CLI-4).

import { quoteOutside } from '../core/text.js';
import type { Terminal } from './terminal.js';

export function showWait(terminal: Terminal, servers: readonly string[]): void {
  if (!terminal.errIsTerminal) return;
  const text = servers.length === 0 ? '' : `  waiting for ${servers.join(', ')}`;
  terminal.err(`\r\u001b[2K${quoteOutside(text, terminal.columns - 2)}${text === '' ? '' : '\r'}`);
}
