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

/** What a client can be asked during a call. */
export interface Askable {
  readonly form: boolean;
  readonly url: boolean;
  /** Requests besides elicitation. */
  readonly capabilities: RequestClient['capabilities'];
}

/** Sends a request to a client; the key is the one that the tool chose. */
export type SendRequest = (request: InputRequest, signal: AbortSignal, key?: string) => Promise<InputAnswer>;

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
export function createClientPrompts() {
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
  const sendWith = async (
    prompt: OpenPrompt,
    signal: AbortSignal,
    send: (until: AbortSignal) => Promise<InputAnswer>,
  ): Promise<InputAnswer> => {
    try {
      return await send(AbortSignal.any([signal, prompt.ending.signal]));
    } finally {
      open.delete(prompt);
    }
  };

  return {
    /** Asks for approval. Answers `unable` if too many prompts are open, so that it can be given elsewhere. */
    async approve(client: string, approval: ApprovalRequest, send: SendRequest): Promise<ApprovalAnswer> {
      const prompt = tryOpen(client);
      if (prompt === undefined) return 'unable';
      const request = toApprovalInput(approval);
      return toApprovalAnswer(await sendWith(prompt, approval.signal, (until) => send(request, until)));
    },
    /** Returns how a call asks questions of its tool and sends other requests. Both throw `busy` if too many prompts stay open. */
    toOptions(client: string, { form, url, capabilities }: Askable, send: SendRequest) {
      const ask = async (asker: string, request: InputRequest, signal: AbortSignal, key: string | undefined) =>
        sendWith(await waitToOpen(client, signal, asker), signal, (until) => send(request, until, key));
      const elicit: Elicit<Question> = async (question, signal) => {
        if (question.url === undefined ? !form : !url)
          throw cannotAsk(question.url === undefined ? 'a form' : 'a page to visit');
        return (await ask(question.tool, toInput(question), signal, question.id)) as ElicitAnswer;
      };
      const request: RequestClient['request'] = async ({ capability, params, id }, signal) => {
        const method = CLIENT_METHODS[capability];
        return (await ask(method, { method, params }, signal, id)) as JsonObject;
      };
      return {
        elicit: form || url ? elicit : undefined,
        client: Object.keys(capabilities).length > 0 ? { capabilities, request } : undefined,
      };
    },
  };
}

function tooManyPrompts(tool: string): ToolError {
  return new ToolError('busy', `${tool} could not ask: too many questions are open`, {
    hint: 'answer or cancel the open questions, then call it again',
  });
}

/** Reads what a client can be asked; undefined: nothing. Elicitation without a mode means forms, as before modes existed. */
export function readAskable(given: unknown): Askable | undefined {
  if (!isRecord(given)) return undefined;
  const { elicitation } = given;
  const url = isRecord(elicitation) && elicitation.url !== undefined;
  const form = isRecord(elicitation) && (elicitation.form !== undefined || !url);
  const supported = CLIENT_CAPABILITIES.filter((capability) => isRecord(given[capability]));
  if (!form && !url && supported.length === 0) return undefined;
  const capabilities = Object.fromEntries(supported.map((name) => [name, given[name] as JsonObject]));
  return { form, url, capabilities };
}

function toInput({ tool, message, schema, url }: Question): InputRequest {
  const text = `${spellOut(tool)} asks:\n${message}`;
  const shown = url === undefined ? { mode: 'form', requestedSchema: schema } : { mode: 'url', url };
  return { method: 'elicitation/create', params: { message: text, ...shown } };
}

export function toApprovalAnswer(answer: InputAnswer): ApprovalAnswer {
  const { action, content } = answer as ElicitAnswer;
  if (action === 'cancel') return 'cancel';
  return action === 'accept' && content?.decision === CONSENT_CHOICE ? 'once' : 'deny';
}

/** Whether a message, or one of several, answers a question of `toApprovalInput` with consent. */
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

export function toApprovalInput({ record, changes }: ApprovalRequest): InputRequest {
  const lines = [
    `wield needs your approval to run ${spellOut(record.tool)}.`,
    ...approvalRows(record).map(([label, value]) => `${label}: ${value}`),
    ...(changes === undefined ? [] : ['changed since last time:', ...changeLines(changes)]),
  ];
  const decision = { type: 'string', title: 'wield: your decision', enum: ['do not run it', CONSENT_CHOICE] };
  const requestedSchema = { type: 'object', properties: { decision }, required: ['decision'] };
  return { method: 'elicitation/create', params: { message: lines.join('\n'), requestedSchema, mode: 'form' } };
}
