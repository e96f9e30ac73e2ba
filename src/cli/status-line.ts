// A transient line on a terminal: progress of a call, servers that are waited for (CLI-4).

import type { Progress } from '../core/context.js';
import { formatDuration, quoteOutside, spellOut } from '../core/text.js';
import type { ServerEntry } from '../core/upstream.js';
import { runnerOf } from '../upstream/entries/package-runner.js';
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

// When the time is shown, and how often it changes.
const SHOWN_MS = 2000;
const TICK_MS = 1000;

export function createWaitLine(terminal: Terminal, servers: () => readonly ServerEntry[]) {
  let since: number | undefined;
  let tick: NodeJS.Timeout | undefined;
  let installing: readonly string[] = [];
  const describe = (name: string): string => {
    const server = servers().find((one) => one.name === name);
    const runner = server && runnerOf(server);
    if (runner !== undefined) installing = [...installing, name];
    return runner === undefined ? name : `${name} (${runner} installs it)`;
  };
  return {
    /** None clears the line. */
    show(names: readonly string[]): void {
      clearInterval(tick);
      installing = [];
      if (names.length === 0) {
        since = undefined;
        showTransient(terminal, '');
        return;
      }
      since ??= performance.now();
      const began = since;
      const waiting = names.map(describe).join(', ');
      const show = (): void => {
        const passed = performance.now() - began;
        const time = passed < SHOWN_MS ? '' : ` … ${formatDuration(Math.floor(passed / 1000) * 1000)}`;
        showTransient(terminal, `waiting for ${waiting}${time}`);
      };
      show();
      if (terminal.errIsTerminal) tick = setInterval(show, TICK_MS).unref();
    },
    /** Says what goes on after an interrupt (UPS-112). */
    interrupt(): void {
      const names = installing.map(spellOut).join(', ');
      if (names !== '') terminal.err(`  ${names}: the installation goes on in the background; wield mcp shows it\n`);
    },
  };
}

/** Shows the progress of a call. */
export function showProgress(terminal: Terminal, { done, total, message = '' }: Progress): void {
  const steps = done === undefined ? '' : `${done}${total === undefined ? '' : `/${total}`} `;
  terminal.showTransient(terminal.paint('dim', quoteOutside(`${steps}${message}`, terminal.columns - 1), 'err'));
}
