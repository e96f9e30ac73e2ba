// Shows a change of a configuration file and asks for confirmation.

import { redactText } from '../audit/redact.js';
import { ToolError } from '../core/error.js';
import { sanitize } from '../core/text.js';
import { ask } from './installing.js';
import type { Terminal } from './terminal.js';
import type { VerbCall } from './verb.js';

const MAX_LINE = 2000;

/** Redacts the values of secret-looking keys in a diff. */
export function toShownDiff(diff: readonly string[]): string[] {
  return diff.map((line) => redactText(sanitize(line), [], MAX_LINE));
}

export function printDiff(terminal: Terminal, diff: readonly string[]): void {
  for (const line of diff) {
    const colour = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim';
    terminal.out(`    ${terminal.paint(colour, line)}\n`);
  }
}

/** Asks for confirmation unless `--yes` is set. Throws `needs_approval` if there is no terminal. */
export async function consent(call: VerbCall, question: string, what: string): Promise<boolean> {
  if (call.flags.has('yes')) return true;
  if (!call.json && call.terminal.canAsk) return ask(call, question);
  throw new ToolError(
    'needs_approval',
    `${what} was not changed: needs confirmation, and this is not a terminal`,
    {
      hint: 'review the change with --dry-run, then pass --yes',
    },
  );
}
