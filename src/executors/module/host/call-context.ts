// The call of a tool as seen in the host: everything it uses is requested from wield by message.

import type { Elicitation } from '../../../core/elicit.js';
import { ToolError } from '../../../core/error.js';
import type { ContextStore } from '../../../core/store.js';
import type { CallPart } from '../../shared/invoke.js';
import type { Answer, Question, Reply, Request } from '../protocol.js';
import { createRemoteStore } from '../remote-store.js';

const NativePromise = Promise;

export type RunRequest = Request & { readonly type: 'run' };

type Unnumbered<T> = T extends unknown ? Omit<T, 'id' | 'question'> : never;

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
  const ask = async <Key extends string>(question: Unnumbered<Question>, key: Key) => {
    const number = ++questions;
    const answer = await new NativePromise<Answer>((resolve) => {
      waiting[number] = resolve;
      send({ ...question, id, question: number } as Question);
    });
    if (key in answer) return (answer as Extract<Answer, { readonly [K in Key]: unknown }>)[key];
    throw toError(answer);
  };
  const call: CallPart = {
    progress: (progress) => send({ type: 'progress', id, progress }),
    call: (ref, input) => ask({ type: 'call', ref, input: input as never }, 'result'),
    remoteTools: upstreams ? () => ask({ type: 'remote-tools' }, 'remoteTools') : undefined,
    client: { capabilities: {}, request: (request) => ask({ type: 'client', request }, 'answered') },
    elicit: asks ? (request: Elicitation) => ask({ type: 'elicit', request }, 'elicited') : undefined,
  };
  return {
    call,
    store: stores ? createRemoteStore((method, args) => ask({ type: 'store', method, args }, 'value')) : null,
    answer(question, answer) {
      waiting[question]?.(answer);
      delete waiting[question];
    },
  };
}

function toError(answer: Answer): ToolError {
  if (!('error' in answer)) return new ToolError('internal', 'the answer does not match the question');
  const { code, message, ...more } = answer.error;
  return new ToolError(code, message, more);
}
