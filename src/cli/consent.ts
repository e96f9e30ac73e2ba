// The one rule for asking: changes are shown, then confirmed (CLI-31).

import { assertPerson } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import { redactText } from '../core/redact.js';
import { quoteWord, sanitize, spellOut } from '../core/text.js';
import { readLine, type Terminal } from './terminal.js';
import { type FlagHelp, toggle, type VerbCall } from './verb.js';

const MAX_LINE = 2000;

/** The flags of every verb that changes something outside the project or makes something runnable. */
export const ASKS: Readonly<Record<'dry-run' | 'yes', FlagHelp>> = {
  'dry-run': toggle('Show what would happen without changing anything', 'n'),
  yes: toggle('Do not ask for confirmation', 'y'),
};

export const RUN_HOOKS: FlagHelp = toggle('Also run the hooks that are shown');

/** Redacts the values of secret-looking keys in a diff. */
export function toShownDiff(diff: readonly string[]): string[] {
  return diff.map((line) => redactText(sanitize(line), [], MAX_LINE));
}

export function printDiff(terminal: Terminal, diff: readonly string[], indent = 4): void {
  for (const line of diff) {
    const colour = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim';
    terminal.out(`${' '.repeat(indent)}${terminal.paint(colour, line)}\n`);
  }
}

/**
 * Asks before a change that was shown, unless `--yes` is set; prints `declined` if the answer is no. Throws `needs_approval` if there is no terminal, and `denied`
 * in a process that a tool started.
 */
export async function confirm(
  call: VerbCall,
  question: string,
  what: string,
  declined = '  nothing was changed\n',
): Promise<boolean> {
  assertPerson(call.toolbox().machine.insideCall, 'confirming a change');
  if (call.flags.has('yes')) return true;
  if (!mayConfirm(call)) throw unconfirmed(call, what);
  if (await ask(call, question)) return true;
  call.terminal.out(declined);
  return false;
}

/** Whether a change can be confirmed: by `--yes`, or at a terminal. */
export function mayConfirm({ flags, json, terminal }: VerbCall): boolean {
  return flags.has('yes') || (!json && terminal.canAsk);
}

/** The error where nobody can be asked, with the command that does it. */
export function unconfirmed({ json, typed }: VerbCall, what: string): ToolError {
  const end = typed.indexOf('--');
  const words = typed.map((word) => quoteWord(redactText(sanitize(word), [], MAX_LINE)));
  const command = ['wield', ...words.toSpliced(end === -1 ? words.length : end, 0, '--yes')].join(' ');
  const why = json ? '--json does not ask' : 'this is not a terminal';
  return new ToolError('needs_approval', `${what}: not changed, because it needs confirmation and ${why}`, {
    hint: `review it with --dry-run, then run: ${command}`,
  });
}

/** Asks a yes/no question, whose names and paths may come from outside (ERR-5); anything but yes is no. */
export async function ask({ terminal, signal }: VerbCall, question: string): Promise<boolean> {
  terminal.err(`  ${spellOut(question)} [y/N] `);
  return ['y', 'yes'].includes((await readLine(terminal, signal)).trim().toLowerCase());
}
