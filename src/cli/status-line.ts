// A transient line on a terminal: progress of a call, servers that are waited for (CLI-4).

import { quoteOutside } from '../core/text.js';
import type { Terminal } from './terminal.js';

/** Shows a line that the next output replaces; an empty text clears it. */
export function showTransient(terminal: Terminal, text: string): void {
  terminal.showTransient(text === '' ? '' : `  ${quoteOutside(text, terminal.columns - 4)}`);
}

const BAR = 20;

/** Shows a bar that is filled from 0 to 1, and how much that is. */
export function showShare(terminal: Terminal, text: string, share: number, size = ''): void {
  const full = Math.round(Math.min(1, Math.max(0, share)) * BAR);
  const bar = `${'█'.repeat(full)}${'░'.repeat(BAR - full)}`;
  const room = Math.max(10, terminal.columns - BAR - size.length - 8);
  terminal.showTransient(`  ${quoteOutside(text, room)}  ${bar}  ${size}`);
}

/** Shows the servers that a listing waits for; none clears the line. */
export function showWait(terminal: Terminal, servers: readonly string[]): void {
  showTransient(terminal, servers.length === 0 ? '' : `waiting for ${servers.join(', ')}`);
}

export interface StatusLine {
  show(progress: { readonly done?: number; readonly total?: number; readonly message?: string }): void;
  clear(): void;
}

/** Shows the progress of a call until it is cleared. */
export function createStatusLine(terminal: Terminal): StatusLine {
  let shown = false;
  return {
    show({ done, total, message = '' }) {
      const steps = done === undefined ? '' : `${done}${total === undefined ? '' : `/${total}`} `;
      const text = quoteOutside(`${steps}${message}`, terminal.columns - 1);
      terminal.err(`\r\u001b[K${terminal.paint('dim', text, 'err')}`);
      shown = true;
    },
    clear() {
      if (shown) terminal.err('\r\u001b[K');
      shown = false;
    },
  };
}
