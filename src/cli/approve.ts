// Asks the person at the terminal for consent, which `--yes` is beforehand, and what tools want to know.

import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
import type { Elicit, Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
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
  const ask = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    const { question } = await import('./question.js');
    return question(terminal, request);
  };
  return Object.assign(ask, { by: 'terminal' as const });
}

/** How a call from the command line asks what its tool wants to know; undefined where nobody is there (MOD-18). */
export function createElicit({
  terminal,
  insideCall,
}: Omit<ApproveOptions, 'yes'>): Elicit<Question> | undefined {
  if (insideCall || !terminal.canAsk) return undefined;
  return async (question, signal) => {
    const { fillIn } = await import('./fill-in.js');
    return fillIn(terminal, question, signal);
  };
}

async function refuseYes({ tool, id }: ApprovalRequest): Promise<ApprovalAnswer> {
  throw new ToolError('denied', `${tool.name} was not run: --yes from inside a tool call does not count`, {
    hint: 'leave --yes out: the call is then recorded, and a person can approve it',
    data: { id },
  });
}
