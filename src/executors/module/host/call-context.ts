// The call of a tool as seen in the host: everything it uses is requested from wield by message.

import type { Elicitation } from '../../../core/elicit.js';
import { ToolError } from '../../../core/error.js';
import type { ContextStore } from '../../../core/store.js';
import type { CallPart } from '../../shared/invoke.js';
import type { Answer, Asked, Reply, Request } from '../protocol.js';
import { createRemoteStore } from '../remote-store.js';

const NativePromise = Promise;

export type RunRequest = Request & { readonly type: 'run' };

export interface HostedCall {
  readonly call: CallPart;
  readonly store: ContextStore | null;
  /** Passes on the answer to a question of the tool. */
  answer(question: number, answer: Answer): void;
}

export function createHostedCall(
  { id, asks, stores, upstreams }: RunRequest,
  send: (reply: Reply) => void,
): HostedCall {
  // Not a Map, whose methods the module may replace.
  const waiting: Record<number, (answer: Answer) => void> = Object.create(null);
  let questions = 0;
  const ask = async <Value>(asked: Asked): Promise<Value> => {
    const question = ++questions;
    const answer = await new NativePromise<Answer>((resolve) => {
      waiting[question] = resolve;
      send({ id, question, ...asked });
    });
    if ('value' in answer) return answer.value as Value;
    const { code, message, ...more } = answer.error;
    throw new ToolError(code, message, more);
  };
  const call: CallPart = {
    progress: (progress) => send({ type: 'progress', id, progress }),
    call: (ref, input) => ask({ type: 'call', ref, input: input as never }),
    remoteTools: upstreams ? () => ask({ type: 'remote-tools' }) : undefined,
    client: { capabilities: {}, request: (request) => ask({ type: 'client', request }) },
    elicit: asks ? (request: Elicitation) => ask({ type: 'elicit', request }) : undefined,
  };
  return {
    call,
    store: stores ? createRemoteStore((method, args) => ask({ type: 'store', method, args })) : null,
    answer(question, answer) {
      waiting[question]?.(answer);
      delete waiting[question];
    },
  };
}
