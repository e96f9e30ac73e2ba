// Prompts that clients show to their users: which modes they support, and how many may be open at once (SRV-15).

import type { ApprovalAnswer, ApprovalRequest } from '../core/approval.js';
import { pause } from '../core/async.js';
import { CLIENT_CAPABILITIES, CLIENT_METHODS, type RequestClient } from '../core/client-request.js';
import { CONSENT_CHOICE, cannotAsk, type Elicit, type ElicitAnswer, type Question } from '../core/elicit.js';
import { ToolError } from '../core/error.js';
import { isRecord, type Json, type JsonObject } from '../core/json.js';
import { spellOut } from '../core/text.js';
import { approvalRows, changeLines } from '../policy/approval-text.js';
import type { InputAnswer, InputRequest } from './client-requests.js';

export interface ElicitationModes {
  readonly form: boolean;
  readonly url: boolean;
}

export interface ClientPrompts {
  /** Asks for approval. Answers `unable` if too many prompts are open, so that it can be given elsewhere. */
  approve(client: string, signal: AbortSignal, send: Send<ElicitAnswer>): Promise<ApprovalAnswer>;
  /** Asks questions of a tool, if the client can show any. Throws `busy` if too many prompts stay open. */
  createElicit(
    client: string,
    modes: ElicitationModes,
    send: (question: Question, signal: AbortSignal) => Promise<ElicitAnswer>,
  ): Elicit<Question> | undefined;
  /** Sends other requests to the client, under the same limits; undefined if it supports none. */
  createClient(
    client: string,
    capabilities: unknown,
    send: (request: InputRequest, signal: AbortSignal, key: string | undefined) => Promise<InputAnswer>,
  ): RequestClient | undefined;
}

type Send<T> = (signal: AbortSignal) => Promise<T>;

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
const RETRY_MS = 50;
// An older prompt may be abandoned, and makes room for a new one.
const ABANDONED_MS = 20_000;

/** Limits the prompts of one server process. `client` identifies who is asked: session and client name. */
export function createClientPrompts(): ClientPrompts {
  // In the order in which they were opened.
  const open = new Set<OpenPrompt>();
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
  const waitToOpen = async (client: string, signal: AbortSignal, asker: string): Promise<OpenPrompt> => {
    for (let waited = 0; waited <= MAX_WAIT_MS; waited += RETRY_MS) {
      const prompt = tryOpen(client);
      if (prompt !== undefined) return prompt;
      await pause(RETRY_MS);
      signal.throwIfAborted();
    }
    throw tooManyPrompts(asker);
  };
  const sendWith = async <T>(prompt: OpenPrompt, signal: AbortSignal, send: Send<T>): Promise<T> => {
    try {
      return await send(AbortSignal.any([signal, prompt.ending.signal]));
    } finally {
      open.delete(prompt);
    }
  };

  return {
    async approve(client, signal, send) {
      const prompt = tryOpen(client);
      return prompt === undefined ? 'unable' : toApprovalAnswer(await sendWith(prompt, signal, send));
    },
    createElicit: (client, modes, send) => {
      if (!modes.form && !modes.url) return undefined;
      return async (question, signal) => {
        if (question.url === undefined ? !modes.form : !modes.url)
          throw cannotAsk(question.url === undefined ? 'a form' : 'a page to visit');
        return sendWith(await waitToOpen(client, signal, question.tool), signal, (until) => send(question, until));
      };
    },
    createClient: (client, capabilities, send) =>
      toClient(capabilities, async (request, signal, key) =>
        sendWith(await waitToOpen(client, signal, request.method), signal, (until) => send(request, until, key)),
      ),
  };
}

type SendRequest = Parameters<ClientPrompts['createClient']>[2];

function toClient(given: unknown, send: SendRequest): RequestClient | undefined {
  const capabilities = readClientCapabilities(given);
  if (Object.keys(capabilities).length === 0) return undefined;
  return {
    capabilities,
    request: async ({ capability, params, id }, signal) =>
      (await send({ method: CLIENT_METHODS[capability], params }, signal, id)) as JsonObject,
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

/** Whether a client supports requests besides elicitation. */
export function hasClientCapability(capabilities: unknown): boolean {
  return isRecord(capabilities) && CLIENT_CAPABILITIES.some((capability) => isRecord(capabilities[capability]));
}

function readClientCapabilities(capabilities: unknown): RequestClient['capabilities'] {
  if (!isRecord(capabilities)) return {};
  const supported = CLIENT_CAPABILITIES.filter((capability) => isRecord(capabilities[capability]));
  return Object.fromEntries(supported.map((capability) => [capability, capabilities[capability] as JsonObject]));
}

export function toElicitParams({ tool, message, schema, url }: Question) {
  const text = `${spellOut(tool)} asks:\n${message}`;
  return url === undefined ? { message: text, requestedSchema: schema } : { message: text, url };
}

export function toApprovalAnswer({ action, content }: ElicitAnswer): ApprovalAnswer {
  if (action === 'cancel') return 'cancel';
  return action === 'accept' && content?.decision === CONSENT_CHOICE ? 'once' : 'deny';
}

/** Whether a message, or one of several, answers a question of `toApprovalForm` with consent. */
export function carriesConsent(body: Json): boolean {
  return (Array.isArray(body) ? body : [body]).some((message) => {
    if (!isRecord(message)) return false;
    const { result, params } = message;
    const responses = isRecord(params) && isRecord(params.inputResponses) ? Object.values(params.inputResponses) : [];
    return [result, ...responses].some(
      (answer) => isRecord(answer) && isRecord(answer.content) && answer.content.decision === CONSENT_CHOICE,
    );
  });
}

export function toApprovalForm({ record, changes }: ApprovalRequest) {
  const lines = [
    `wield needs your approval to run ${spellOut(record.tool)}.`,
    ...approvalRows(record).map(([label, value]) => `${label}: ${value}`),
    ...(changes === undefined ? [] : ['changed since last time:', ...changeLines(changes)]),
  ];
  return {
    message: lines.join('\n'),
    requestedSchema: {
      type: 'object' as const,
      properties: {
        decision: {
          type: 'string' as const,
          title: 'wield: your decision',
          enum: ['do not run it', CONSENT_CHOICE],
        },
      },
      required: ['decision'],
    },
  };
}
