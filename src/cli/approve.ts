// Asks the person at the terminal for consent; `--yes` is theirs beforehand.

import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
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
  let last: Promise<unknown> = Promise.resolve();
  const ask = (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    // Tools may call several others at once; a person answers one question at a time.
    const answer = last.then(async () => (await import('./question.js')).question(terminal, request));
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
    hint: 'leave --yes out: the call is then recorded, and a person can approve it',
    data: { id },
  });
}
