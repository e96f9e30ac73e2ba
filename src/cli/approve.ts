// The approval and elicitation callbacks of the command line.

import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
import { approveBy } from '../core/approval.js';
import type { Elicit, Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import { spellOut } from '../core/text.js';
import { approvalRows, changeLines } from '../policy/approval-text.js';
import { askFields } from './ask-fields.js';
import { readLine, type Terminal, widthOf, wrap } from './terminal.js';

const INDENT = 12;

export interface ApproveOptions {
  readonly terminal: Terminal;
  /** `--yes`: approve without asking. */
  readonly yes: boolean;
  /** Whether this process was started by a tool. */
  readonly insideCall: boolean;
}

/** Creates the approval callback; undefined if the user cannot be asked. */
export function createApprove({ terminal, yes, insideCall }: ApproveOptions): Approve | undefined {
  // A tool that starts wield cannot approve anything, even on a terminal it created (A44).
  if (insideCall) return yes ? approveBy('yes', refuseYes) : undefined;
  if (yes) return approveBy('yes', async () => 'once');
  if (!terminal.canAsk) return undefined;
  return approveBy('terminal', (request) => terminal.inTurn(() => ask(terminal, request)));
}

/** Creates the elicitation callback; undefined if the user cannot be asked (MOD-18). */
export function createElicit({ terminal, insideCall }: Omit<ApproveOptions, 'yes'>): Elicit<Question> | undefined {
  if (insideCall || !terminal.canAsk) return undefined;
  return (question, signal) => askFields(terminal, question, signal);
}

async function refuseYes({ tool, id }: ApprovalRequest): Promise<ApprovalAnswer> {
  throw new ToolError('denied', `${tool.name} was not run: --yes is ignored inside a tool call`, {
    hint: 'omit --yes: the call is then recorded, and a person can approve it',
    data: { id },
  });
}

async function ask(terminal: Terminal, request: ApprovalRequest): Promise<ApprovalAnswer> {
  if (request.signal.aborted) return 'deny';
  terminal.err(formatQuestion(terminal, request));
  const answer = (await readLine(terminal, request.signal)).trim().toLowerCase();
  if (['y', 'yes'].includes(answer)) return 'once';
  return ['a', 'always'].includes(answer) ? 'always' : 'deny';
}

function formatQuestion(terminal: Terminal, { record, changes }: ApprovalRequest): string {
  const width = widthOf(terminal) - INDENT - 1;
  const indented = (label: string, text: string): string[] =>
    wrap(text, width).map((line, at) => `${at === 0 ? `  ${label}`.padEnd(INDENT) : ' '.repeat(INDENT)}${line}`);
  const since = changes?.since?.slice(0, 16).replace('T', ' ') ?? 'it was approved';
  const lines = [
    `${terminal.paint('bold', spellOut(record.tool), 'err')} needs your approval`,
    ...approvalRows(record).flatMap(([label, value]) => indented(label, value)),
    ...(changes === undefined
      ? []
      : [
          `  ${terminal.paint('yellow', 'changed', 'err')}   since ${since}`,
          ...changeLines(changes).flatMap((line) => indented('', line)),
        ]),
    'always: approves this version of the tool with any input, for your calls in this directory',
  ];
  return `${lines.join('\n')}\nRun it? [y]es, [N]o, [a]lways: `;
}
