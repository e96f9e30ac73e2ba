// Requests that the server sends to its client, in the older protocol version.

import { isRecord } from '../core/json.js';
import { type InputAnswer, type InputRequest, readAnswer } from './input-request.js';
import { ANSWER_TIMEOUT_MS } from './interactive-calls.js';
import type { Message } from './message.js';

/** Sends a message to the client, as JSON. */
export type Send = (text: string) => void;

export interface Outgoing {
  /** Sends a request. Rejects if the client fails, the signal aborts, or nothing comes within ten minutes. */
  request(request: InputRequest, signal: AbortSignal, send: Send): Promise<InputAnswer>;
  /** Takes a response of the client; returns false if it answers no request of this object. */
  receive(response: Message): boolean;
  /** Rejects all open requests. */
  close(): void;
}

export function createOutgoing(): Outgoing {
  const open = new Map<string, (response: Message | Error) => void>();
  let sent = 0;
  // Another server of a fleet may ask in the same session.
  const own = Math.random().toString(36).slice(2, 10);
  return {
    request: ({ method, params }, signal, send) =>
      new Promise((resolve, reject) => {
        // A text, so that it is never the number of a request that the SDK server sent.
        const id = `wield-${own}-${++sent}`;
        const settle = (response: Message | Error): void => {
          open.delete(id);
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          if (response instanceof Error) reject(response);
          else if (response.error !== undefined) reject(new Error(response.error.message));
          else {
            const answer = toAnswer(response.result, method);
            if (answer === undefined) reject(new Error('the client sent an invalid answer'));
            else resolve(answer);
          }
        };
        const cancel = (reason: string): void => {
          send(toNotification('notifications/cancelled', { requestId: id, reason }));
          settle(new Error(reason));
        };
        const onAbort = (): void => cancel(String(signal.reason));
        const timer = setTimeout(() => cancel('Request timed out'), ANSWER_TIMEOUT_MS);
        signal.addEventListener('abort', onAbort, { once: true });
        open.set(id, settle);
        send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      }),
    receive(response) {
      const settle = typeof response.id === 'string' ? open.get(response.id) : undefined;
      settle?.(response);
      return settle !== undefined;
    },
    close() {
      for (const settle of [...open.values()]) settle(new Error('Connection closed'));
    },
  };
}

export function toNotification(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
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
