// Prompts that a client shows to its user: which modes it supports, and how many may be open at once.

import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
import { approvalRows, changeLines } from '../core/approval-text.js';
import { cannotAsk, type Elicit, type ElicitAnswer, type Question } from '../core/elicit.js';
import { isRecord } from '../core/json.js';
import { createSemaphore } from '../core/semaphore.js';
import { spellOut } from '../core/text.js';

export interface ElicitationModes {
  readonly form: boolean;
  readonly url: boolean;
}

export interface ClientPrompts {
  /** Asks for approval. Answers `unable` if too many prompts are open, so that it can be given elsewhere. */
  approve(send: () => Promise<ElicitAnswer>): Promise<ApprovalAnswer>;
  /** Asks questions of a tool; each waits until fewer prompts are open. */
  createElicit(
    modes: ElicitationModes,
    send: (question: Question, signal: AbortSignal) => Promise<ElicitAnswer>,
  ): Elicit<Question>;
}

// A model must not flood the user or this process.
const MAX_PROMPTS = 16;

export function createClientPrompts(): ClientPrompts {
  const slots = createSemaphore(MAX_PROMPTS);
  return {
    async approve(send) {
      const release = slots.tryAcquire();
      if (release === undefined) return 'unable';
      try {
        return toApprovalAnswer(await send());
      } finally {
        release();
      }
    },
    createElicit: (modes, send) => async (question, signal) => {
      if (question.url === undefined ? !modes.form : !modes.url)
        throw cannotAsk(question.url === undefined ? 'a form' : 'a page to visit');
      const release = await slots.acquire(signal);
      try {
        return await send(question, signal);
      } finally {
        release();
      }
    },
  };
}

/** Reads a client's elicitation capability; without a mode it means forms, as before modes existed. */
export function readElicitationModes(capabilities: unknown): ElicitationModes {
  const elicitation = isRecord(capabilities) ? capabilities.elicitation : undefined;
  if (!isRecord(elicitation)) return { form: false, url: false };
  const url = elicitation.url !== undefined;
  return { form: elicitation.form !== undefined || !url, url };
}

export function toElicitParams({ tool, message, schema, url }: Question) {
  const text = `${spellOut(tool)} asks:\n${message}`;
  return url === undefined ? { message: text, requestedSchema: schema } : { message: text, url };
}

/** Marks approvals as given through the client. */
export function byClient(approve: (request: ApprovalRequest) => Promise<ApprovalAnswer>): Approve {
  return Object.assign(approve, { by: 'mcp' as const });
}

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
