// Requests to the client and its answers: messages in the older protocol version, parts of a result in the newer.

import { type Deferred, deferred, onAbort } from '../core/async.js';
import { type CLIENT_METHODS, capabilityOf, isClientResult } from '../core/client-request.js';
import type { ClientCapability } from '../core/context.js';
import type { ElicitAnswer } from '../core/elicit.js';
import { isRecord, type JsonObject } from '../core/json.js';
import { type Message, toNotification } from './message.js';

export interface InputRequest {
  readonly method: 'elicitation/create' | (typeof CLIENT_METHODS)[ClientCapability];
  readonly params: object;
}

/** A result that asks the client for input; the client repeats the call with it. */
export interface InputRequiredResult {
  readonly resultType: 'input_required';
  readonly inputRequests: Readonly<Record<string, InputRequest>>;
  readonly requestState: string;
}

/** What a client answers: to a question, or to another request. */
export type InputAnswer = ElicitAnswer | JsonObject;

/** How long a client may take to answer. */
export const ANSWER_TIMEOUT_MS = 600_000;

const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'];

/** Reads the answer to one request; undefined if there is none. */
export function readAnswer(
  responses: unknown,
  key: string,
  method: InputRequest['method'] = 'elicitation/create',
): InputAnswer | undefined {
  const response = isRecord(responses) && Object.hasOwn(responses, key) ? responses[key] : undefined;
  // An entry that is a whole response instead of its result is no answer.
  if (!isRecord(response) || 'method' in response || 'result' in response) return undefined;
  const capability = capabilityOf(method);
  if (capability !== undefined) return isClientResult(capability, response) ? response : undefined;
  if (!ACTIONS.includes(response.action)) return undefined;
  const action = response.action as ElicitAnswer['action'];
  return isRecord(response.content) ? { action, content: response.content as ElicitAnswer['content'] } : { action };
}

/** The open requests to one client of the older protocol version. */
export class ClientRequests {
  readonly #open = new Map<string, Deferred<Message>>();
  // Another server of a fleet may ask in the same session.
  readonly #prefix = `wield-${Math.random().toString(36).slice(2, 10)}`;
  #sent = 0;

  /** Sends a request. Rejects if the client fails, the signal aborts, or nothing comes within ten minutes. */
  async request(
    { method, params }: InputRequest,
    signal: AbortSignal,
    send: (text: string) => void,
  ): Promise<InputAnswer> {
    const id = `${this.#prefix}-${++this.#sent}`;
    const waiter = deferred<Message>();
    const cancel = (reason: string): void => {
      send(toNotification('notifications/cancelled', { requestId: id, reason }));
      waiter.reject(new Error(reason));
    };
    this.#open.set(id, waiter);
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    const timer = setTimeout(() => cancel('Request timed out'), ANSWER_TIMEOUT_MS);
    const unlisten = onAbort(signal, () => cancel(String(signal.reason)));
    try {
      const { result, error } = await waiter.promise;
      if (error !== undefined) throw new Error(error.message);
      const answer = toAnswer(result, method);
      if (answer === undefined) throw new Error('the client sent an invalid answer');
      return answer;
    } finally {
      this.#open.delete(id);
      clearTimeout(timer);
      unlisten();
    }
  }

  /** Takes a response of the client; returns false if it answers no open request. */
  receive(response: Message): boolean {
    const waiter = this.#open.get(String(response.id));
    this.#open.delete(String(response.id));
    waiter?.resolve(response);
    return waiter !== undefined;
  }

  /** Rejects all open requests. */
  close(): void {
    for (const waiter of this.#open.values()) waiter.reject(new Error('Connection closed'));
  }
}

function toAnswer(result: unknown, method: InputRequest['method']): InputAnswer | undefined {
  const answer = readAnswer({ result }, 'result', method);
  if (answer === undefined || method !== 'elicitation/create') return answer;
  const content = isRecord(result) ? (result.content ?? undefined) : undefined;
  if (content !== undefined && !isRecord(content)) return undefined;
  return Object.values(content ?? {}).every(isFieldValue) ? answer : undefined;
}

function isFieldValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return ['string', 'number', 'boolean'].includes(typeof value);
}
