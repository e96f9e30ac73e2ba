// Shows changes of files and asks for confirmation.

import { ToolError } from '../core/error.js';
import { redactText } from '../core/redact.js';
import { sanitize } from '../core/text.js';
import { readLine, type Terminal } from './terminal.js';
import { type FlagHelp, toggle, usageError, type VerbCall } from './verb.js';

const MAX_LINE = 2000;

export const YES: FlagHelp = toggle('Do not ask for confirmation', 'y');
export const DRY_RUN: FlagHelp = toggle('Show what would happen without changing anything', 'n');

export const RUN_HOOKS: FlagHelp = toggle('Also run the hooks that are shown');

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
  const message = `${what} was not changed: needs confirmation, and this is not a terminal`;
  const hint = 'review the change with --dry-run, then pass --yes';
  return confirmDestructive(call, question, new ToolError('needs_approval', message, { hint }));
}

/** Asks a yes/no question; anything but yes is no. */
export async function ask({ terminal, signal }: VerbCall, question: string): Promise<boolean> {
  terminal.err(`  ${question} [y/N] `);
  return ['y', 'yes'].includes((await readLine(terminal, signal)).trim().toLowerCase());
}

/** Asks before something is destroyed, unless `--yes` is set. Throws `refusal` if there is no terminal (INS-32). */
export async function confirmDestructive(call: VerbCall, question: string, refusal: ToolError): Promise<boolean> {
  if (call.flags.has('yes')) return true;
  if (call.json || !call.terminal.canAsk) throw refusal;
  return ask(call, question);
}

export function needsYes(what: string): ToolError {
  return usageError(`${what} needs confirmation, and this is not a terminal`, 'pass --yes');
}
