// The form that asks for approval of a call, and how its answer is read (SRV-6).

import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import { approvalRows, changeLines } from '../core/approval-text.js';
import type { ElicitAnswer } from '../core/elicit.js';
import { spellOut } from '../core/text.js';

const RUN = 'run it once';

export function toApprovalAnswer({ action, content }: ElicitAnswer): ApprovalAnswer {
  return action === 'accept' && content?.decision === RUN ? 'once' : 'deny';
}

export function toApprovalForm({ record, changes }: ApprovalRequest) {
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
