// Asks for approval of a call at the terminal.

import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import { spellOut } from '../core/text.js';
import { approvalRows, changeLines } from '../policy/approval-text.js';
import { readLine, type Terminal, widthOf } from './terminal.js';
import { wrap } from './wrap.js';

const INDENT = 12;

/** Asks for approval after all earlier questions are answered. */
export function askApproval(terminal: Terminal, request: ApprovalRequest): Promise<ApprovalAnswer> {
  return terminal.inTurn(() => ask(terminal, request));
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
