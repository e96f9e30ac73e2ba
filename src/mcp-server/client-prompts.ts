// Prompts that clients show to their users: which modes they support, and how many may be open at once (SRV-15).

import type { ApprovalAnswer, ApprovalRequest, Approve } from '../core/approval.js';
import { approvalRows, changeLines } from '../core/approval-text.js';
import { cannotAsk, type Elicit, type ElicitAnswer, type Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { spellOut } from '../core/text.js';

export interface ElicitationModes {
  readonly form: boolean;
  readonly url: boolean;
}

export interface ClientPrompts {
  /** Asks for approval. Answers `unable` if too many prompts are open, so that it can be given elsewhere. */
  approve(client: string, signal: AbortSignal, send: Send): Promise<ApprovalAnswer>;
  /** Asks questions of a tool. Throws `busy` if too many prompts stay open. */
  createElicit(
    client: string,
    modes: ElicitationModes,
    send: (question: Question, signal: AbortSignal) => Promise<ElicitAnswer>,
  ): Elicit<Question>;
}

type Send = (signal: AbortSignal) => Promise<ElicitAnswer>;

interface OpenPrompt {
  readonly client: string;
  readonly since: number;
  readonly ending: AbortController;
}

// A model must not flood the user. All prompts together leave calls that ask nothing a part of `limits.concurrent`.
const MAX_PROMPTS_PER_CLIENT = 16;
const MAX_PROMPTS = 48;
// A question waits this long for others to be answered.
const MAX_WAIT_MS = 5000;
// An older prompt may be abandoned, and makes room for a new one.
const ABANDONED_MS = 60_000;

/** Limits the prompts of one server process. `client` identifies who is asked: session and client name. */
export function createClientPrompts(): ClientPrompts {
  // In the order in which they were opened.
  const open = new Set<OpenPrompt>();
  const waiting = new Set<() => void>();
  const openOf = (client: string): OpenPrompt[] => [...open].filter((prompt) => prompt.client === client);

  // Ends an old prompt of the client itself or, if all together are too many, of the client with the most.
  const makeRoom = (client: string): boolean => {
    const own = openOf(client);
    const full = own.length >= MAX_PROMPTS_PER_CLIENT;
    if (!full && open.size < MAX_PROMPTS) return true;
    const most = [...open].map((prompt) => openOf(prompt.client)).sort((a, b) => b.length - a.length)[0]!;
    const oldest = full ? own[0]! : most[0]!;
    if (performance.now() - oldest.since < ABANDONED_MS || (!full && most.length <= own.length)) return false;
    open.delete(oldest);
    oldest.ending.abort(new Error('the question was left unanswered while others were waiting'));
    return true;
  };
  const tryOpen = (client: string): OpenPrompt | undefined => {
    if (!makeRoom(client)) return undefined;
    const prompt = { client, since: performance.now(), ending: new AbortController() };
    open.add(prompt);
    return prompt;
  };
  const waitToOpen = (client: string, signal: AbortSignal): Promise<OpenPrompt | undefined> =>
    new Promise((resolve) => {
      const settle = (prompt: OpenPrompt | undefined): void => {
        clearTimeout(timer);
        waiting.delete(retry);
        signal.removeEventListener('abort', giveUp);
        resolve(prompt);
      };
      const giveUp = (): void => settle(undefined);
      const retry = (): void => {
        const prompt = tryOpen(client);
        if (prompt !== undefined) settle(prompt);
      };
      const timer = setTimeout(giveUp, MAX_WAIT_MS);
      signal.addEventListener('abort', giveUp, { once: true });
      waiting.add(retry);
    });
  const sendWith = async (prompt: OpenPrompt, signal: AbortSignal, send: Send): Promise<ElicitAnswer> => {
    try {
      return await send(AbortSignal.any([signal, prompt.ending.signal]));
    } finally {
      open.delete(prompt);
      for (const retry of [...waiting]) retry();
    }
  };

  return {
    async approve(client, signal, send) {
      const prompt = tryOpen(client);
      return prompt === undefined ? 'unable' : toApprovalAnswer(await sendWith(prompt, signal, send));
    },
    createElicit: (client, modes, send) => async (question, signal) => {
      if (question.url === undefined ? !modes.form : !modes.url)
        throw cannotAsk(question.url === undefined ? 'a form' : 'a page to visit');
      const prompt = tryOpen(client) ?? (await waitToOpen(client, signal));
      signal.throwIfAborted();
      if (prompt === undefined) throw tooManyPrompts(question.tool);
      return sendWith(prompt, signal, (until) => send(question, until));
    },
  };
}

function tooManyPrompts(tool: string): ToolError {
  return new ToolError('busy', `${tool} could not ask: too many questions are open`, {
    hint: 'answer or cancel the open questions, then call it again',
  });
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
