// Asks the person at the terminal for consent; `--yes` is theirs beforehand.

import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
import { approvalRows, changeLines, wrap } from '../core/approval-text.js';
import { ToolError } from '../core/error.js';
import { spellOut } from '../core/text.js';
import type { Terminal } from './terminal.js';

export interface ApproveOptions {
  readonly terminal: Terminal;
  /** The person consented beforehand. */
  readonly yes: boolean;
  /** Whether this process was started by a tool. */
  readonly insideCall: boolean;
}

/** Whom a call from the command line asks; undefined where nobody is there. */
export function createApprove({ terminal, yes, insideCall }: ApproveOptions): Approve | undefined {
  // A tool that starts wield is no person, whatever terminal it made for itself (A44).
  if (insideCall) return yes ? Object.assign(refuseYes, { by: 'yes' as const }) : undefined;
  if (yes) return Object.assign(async () => 'once' as const, { by: 'yes' as const });
  if (!terminal.canAsk) return undefined;
  let last: Promise<unknown> = Promise.resolve();
  const ask = (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    // Tools may call several others at once; a person answers one question at a time.
    const answer = last.then(() => question(terminal, request));
    last = answer.catch(() => {});
    return answer;
  };
  return Object.assign(ask, { by: 'terminal' as const });
}

/** Throws where this process was started by a tool: consent is a person's. */
export function assertPerson(insideCall: boolean, what: string): void {
  if (!insideCall) return;
  throw new ToolError('denied', `${what} from inside a tool call does not count`, {
    hint: 'a person must do it, in a shell that no tool started',
  });
}

async function refuseYes({ tool, id }: ApprovalRequest): Promise<ApprovalAnswer> {
  throw new ToolError('denied', `${tool.name} was not run: --yes from inside a tool call does not count`, {
    hint: `leave --yes out, and a person can approve the call: it will be ${id}`,
    data: { id },
  });
}

async function question(terminal: Terminal, request: ApprovalRequest): Promise<ApprovalAnswer> {
  if (request.signal.aborted) return 'deny';
  terminal.err(formatQuestion(terminal, request));
  const answer = (await readLine(request.signal)).trim().toLowerCase();
  if (['y', 'yes'].includes(answer)) return 'once';
  return ['a', 'always'].includes(answer) ? 'always' : 'deny';
}

function formatQuestion(terminal: Terminal, { record, changes }: ApprovalRequest): string {
  const width = Math.max(20, terminal.columns - 14);
  const lines = [
    `${terminal.paint('bold', spellOut(record.tool), 'err')} asks for your consent`,
    ...approvalRows(record).flatMap(([label, value]) =>
      wrap(value, width).map((line, at) => `  ${(at === 0 ? label : '').padEnd(9)} ${line}`),
    ),
  ];
  if (changes !== undefined) {
    const since = changes.since?.slice(0, 16).replace('T', ' ') ?? 'it was approved';
    lines.push(`  ${terminal.paint('yellow', 'changed', 'err')}   since ${since}`);
    lines.push(
      ...changeLines(changes).flatMap((line) => wrap(line, width).map((part) => `            ${part}`)),
    );
  }
  lines.push('always: this tool as it is now, with any input, for your own calls in this directory');
  return `${lines.join('\n')}\nRun it? [y]es, [N]o, [a]lways: `;
}

// One line of standard input, in the terminal's own line mode; its end is an empty answer.
function readLine(signal: AbortSignal): Promise<string> {
  const { stdin } = process;
  return new Promise((resolve) => {
    let text = '';
    const end = (): void => {
      stdin.off('data', onData).off('end', end).off('error', end).pause();
      signal.removeEventListener('abort', end);
      resolve(text);
    };
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      if (text.includes('\n') || text.length > 1000) end();
    };
    stdin.on('data', onData).once('end', end).once('error', end);
    signal.addEventListener('abort', end, { once: true });
    stdin.resume();
  });
}
