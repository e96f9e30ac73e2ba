// Requests that a server of the older protocol version sends during its calls: elicitation, sampling and roots.

import { createSemaphore, type Semaphore } from '../../core/async.js';
import { CLIENT_METHODS, lacksCapability } from '../../core/client-request.js';
import type { ClientCapability } from '../../core/context.js';
import { toToolError } from '../../core/error.js';
import type { JsonObject } from '../../core/json.js';
import type { Client } from '../sdk.js';
import type { RemoteCall } from './call.js';
import { toElicitation } from './elicitation.js';

export interface Turns {
  /** Set when a request could have come from calls of different persons: from then on calls run one at a time. */
  one: Semaphore | undefined;
}

export interface ClientRequestsOptions {
  /** The server. */
  readonly name: string;
  readonly announces: readonly ClientCapability[];
  readonly calls: ReadonlySet<RemoteCall>;
  readonly turns: Turns;
}

const METHOD_NOT_FOUND = -32601;
// The code of the protocol for a request that was refused.
const REFUSED = -1;

export function serveClientRequests(
  sdk: typeof import('../sdk.js'),
  client: Client,
  { name, announces, calls, turns }: ClientRequestsOptions,
): void {
  const findAsking = <Key extends 'elicit' | 'client'>(key: Key) => {
    const found = findCall(calls, key);
    if (found === undefined && calls.size > 1) turns.one ??= createSemaphore(1);
    return found;
  };
  client.setRequestHandler('elicitation/create', async ({ params }, context) => {
    const question = toElicitation(params as JsonObject);
    const found = findAsking('elicit');
    if (found === undefined) return { action: 'cancel' };
    const message = found.isCertain ? question.message : `${name}, during one of its calls: ${question.message}`;
    const { action, content } = await found.asked({ ...question, message }, context.mcpReq.signal);
    return { action, content: content as never };
  });
  for (const capability of announces) {
    client.setRequestHandler(CLIENT_METHODS[capability], async ({ params = {} }, context) => {
      const found = findAsking('client');
      try {
        if (found === undefined) throw lacksCapability(name, capability);
        return (await found.asked.request(
          { capability, params: params as unknown as JsonObject },
          context.mcpReq.signal,
        )) as never;
      } catch (error) {
        const { code, message } = toToolError(error);
        throw new sdk.ProtocolError(code === 'unavailable' ? METHOD_NOT_FOUND : REFUSED, message);
      }
    });
  }
}

// The older protocol version does not say which call asks. Of several calls that can have asked, any may pass the request
// on if the same person is behind all of them, who is then told the server instead of the tool (UPS-10).
function findCall<Key extends 'elicit' | 'client'>(calls: ReadonlySet<RemoteCall>, key: Key) {
  const able = [...calls].filter((call) => call[key] !== undefined);
  const [first] = able;
  const asked = first?.[key];
  if (first === undefined || asked === undefined || able.some(({ person }) => person !== first.person))
    return undefined;
  return { asked, isCertain: able.length === 1 };
}
