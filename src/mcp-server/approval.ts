// Consent over the protocol: what the client's person is shown before a call runs, and what counts as their yes (SRV-6).

import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import { approvalRows, changeLines } from '../core/approval-text.js';
import type { ElicitAnswer } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import { spellOut } from '../core/text.js';

const RUN = 'run it once';

export function toConsent({ action, content }: ElicitAnswer): ApprovalAnswer {
  return action === 'accept' && content?.decision === RUN ? 'once' : 'deny';
}

export function toConsentForm({ record, changes }: ApprovalRequest) {
  const lines = [
    `${spellOut(record.tool)} asks for your consent.`,
    ...approvalRows(record).map(([label, value]) => `${label}: ${value}`),
    ...(changes === undefined ? [] : ['changed since last time:', ...changeLines(changes)]),
  ];
  return {
    message: lines.join('\n'),
    requestedSchema: {
      type: 'object' as const,
      properties: {
        decision: { type: 'string' as const, title: 'Your decision', enum: ['do not run it', RUN] },
      },
      required: ['decision'],
    },
  };
}

export function assertFits(fits: boolean, { tool, id }: ApprovalRequest): void {
  if (fits) return;
  throw new ToolError(
    'needs_approval',
    `${tool.name} was not run: the answer is for another call, or was used`,
    {
      hint: 'call it again without requestState, and a new question is asked',
      data: { id },
    },
  );
}
