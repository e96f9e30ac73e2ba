// The question at a terminal: what would run, what changed since last time, and one line of answer.

import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import { approvalRows, changeLines, wrap } from '../core/approval-text.js';
import { spellOut } from '../core/text.js';
import type { Terminal } from './terminal.js';

const INDENT = 12;

export async function question(terminal: Terminal, request: ApprovalRequest): Promise<ApprovalAnswer> {
  if (request.signal.aborted) return 'deny';
  terminal.err(formatQuestion(terminal, request));
  const answer = (await readLine(request.signal)).trim().toLowerCase();
  if (['y', 'yes'].includes(answer)) return 'once';
  return ['a', 'always'].includes(answer) ? 'always' : 'deny';
}

function formatQuestion(terminal: Terminal, { record, changes }: ApprovalRequest): string {
  const width = widthOf(terminal) - INDENT - 1;
  const indented = (label: string, text: string): string[] =>
    wrap(text, width).map(
      (line, at) => `${at === 0 ? `  ${label}`.padEnd(INDENT) : ' '.repeat(INDENT)}${line}`,
    );
  const since = changes?.since?.slice(0, 16).replace('T', ' ') ?? 'it was approved';
  const lines = [
    `${terminal.paint('bold', spellOut(record.tool), 'err')} asks for your consent`,
    ...approvalRows(record).flatMap(([label, value]) => indented(label, value)),
    ...(changes === undefined
      ? []
      : [
          `  ${terminal.paint('yellow', 'changed', 'err')}   since ${since}`,
          ...changeLines(changes).flatMap((line) => indented('', line)),
        ]),
    'always: this tool as it is now, with any input, for your own calls in this directory',
  ];
  return `${lines.join('\n')}\nRun it? [y]es, [N]o, [a]lways: `;
}

// The narrowest that is known: a line that the terminal itself wraps could be made to look like one of ours (A41).
function widthOf({ columns }: Terminal): number {
  return Math.max(40, Math.min(columns, process.stderr.columns || columns));
}

// One line of standard input, in the terminal's own line mode; its end is an empty answer.
export function readLine(signal: AbortSignal, limit = 1000): Promise<string> {
  const { stdin } = process;
  if (stdin.readableEnded) return Promise.resolve('');
  return new Promise((resolve) => {
    let text = '';
    const end = (): void => {
      stdin.off('data', onData).off('end', end).off('error', end).pause();
      signal.removeEventListener('abort', end);
      resolve(text);
    };
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      if (text.includes('\n') || text.length > limit) end();
    };
    stdin.on('data', onData).once('end', end).once('error', end);
    signal.addEventListener('abort', end, { once: true });
    stdin.resume();
  });
}
