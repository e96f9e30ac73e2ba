// Consent to a change of someone's file: what changes is shown, then a person is asked, or has said `--yes`.

import { redactText } from '../audit/redact.js';
import { ToolError } from '../core/error.js';
import { sanitize } from '../core/text.js';
import { ask } from './installing.js';
import type { Terminal } from './terminal.js';
import type { VerbCall } from './verb.js';

const LONGEST_LINE = 2000;

/** Lines of a diff, without values that stand under telling names. */
export function toShownDiff(diff: readonly string[]): string[] {
  return diff.map((line) => redactText(sanitize(line), [], LONGEST_LINE));
}

export function printDiff(terminal: Terminal, diff: readonly string[]): void {
  for (const line of diff) {
    const colour = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim';
    terminal.out(`    ${terminal.paint(colour, line)}\n`);
  }
}

/** Whether to go on; where nobody can be asked, nothing is done without `--yes`. */
export async function consent(call: VerbCall, question: string, what: string): Promise<boolean> {
  if (call.flags.has('yes')) return true;
  if (!call.json && call.terminal.canAsk) return ask(call, question);
  throw new ToolError('needs_approval', `${what} was not changed: nobody is there to ask`, {
    hint: 'look at the change with --dry-run, then repeat the command with --yes',
  });
}
