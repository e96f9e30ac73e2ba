// The approval and elicitation callbacks of the command line.

import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
import { approveBy } from '../core/approval.js';
import type { Elicit, Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import type { Terminal } from './terminal.js';

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
  return approveBy('terminal', async (request) => {
    const { askApproval } = await import('./ask-approval.js');
    return askApproval(terminal, request);
  });
}

/** Creates the elicitation callback; undefined if the user cannot be asked (MOD-18). */
export function createElicit({ terminal, insideCall }: Omit<ApproveOptions, 'yes'>): Elicit<Question> | undefined {
  if (insideCall || !terminal.canAsk) return undefined;
  return async (question, signal) => {
    const { askFields } = await import('./ask-fields.js');
    return askFields(terminal, question, signal);
  };
}

async function refuseYes({ tool, id }: ApprovalRequest): Promise<ApprovalAnswer> {
  throw new ToolError('denied', `${tool.name} was not run: --yes is ignored inside a tool call`, {
    hint: 'omit --yes: the call is then recorded, and a person can approve it',
    data: { id },
  });
}
