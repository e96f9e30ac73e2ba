// Requests of a server during a call, to the person and the client behind it, in both protocol versions.

import { setMaxListeners } from 'node:events';
import { capabilityOf, lacksCapability, type RequestClient } from '../../core/client-request.js';
import type { Elicit, Elicitation } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { RpcError } from '../../net/mcp.js';

/** The error code of the older protocol version for "visit these pages first". */
const URL_ELICITATION_REQUIRED = -32042;
const MAX_PAGES = 8;
// More than any tool needs, and few enough to dismiss one by one.
const MAX_REQUESTS = 16;

/** The parts of a call that answer requests of its server. */
export interface AskingCall {
  readonly name: string;
  readonly elicit?: Elicit | undefined;
  readonly client?: RequestClient | undefined;
  readonly signal: AbortSignal;
}

/** Converts the parameters of `elicitation/create`. */
export function toElicitation({ message, requestedSchema, url, elicitationId }: JsonObject): Elicitation {
  return {
    message: typeof message === 'string' ? message : '',
    schema: isRecord(requestedSchema) ? (requestedSchema as JsonSchema) : undefined,
    url: typeof url === 'string' ? url : undefined,
    id: typeof elicitationId === 'string' ? elicitationId : undefined,
  };
}

/** Limits what one call asks of the person and the client behind it. */
export function limitRequests<Call extends AskingCall>(call: Call): Call {
  const { elicit, client, name } = call;
  let asked = 0;
  const isTooMany = (): boolean => ++asked > MAX_REQUESTS;
  return {
    ...call,
    elicit: elicit && (async (question, signal) => (isTooMany() ? { action: 'cancel' } : elicit(question, signal))),
    client: client && {
      capabilities: client.capabilities,
      async request(request, signal) {
        if (!isTooMany()) return client.request(request, signal);
        throw new ToolError('busy', `${name} sent its client more than ${MAX_REQUESTS} requests in one call`, {
          hint: 'do less in one call, or report this to the author of the server',
        });
      },
    },
  };
}

/** Handles an error that requires the user to visit pages; returns whether the user visited all of them. */
export async function visitPages(error: unknown, { elicit, signal }: AskingCall): Promise<boolean> {
  if (!(error instanceof RpcError) || error.code !== URL_ELICITATION_REQUIRED || elicit === undefined) return false;
  const { elicitations } = isRecord(error.data) ? error.data : {};
  const pages = Array.isArray(elicitations) ? elicitations.slice(0, MAX_PAGES) : [];
  for (const page of pages) {
    if (!isRecord(page) || typeof page.url !== 'string') return false;
    const { action } = await elicit(toElicitation(page as JsonObject), signal);
    if (action !== 'accept') return false;
  }
  return pages.length > 0;
}

/** Answers the input requests of a call, all at once (newer protocol version). Throws if one cannot be answered. */
export async function answerInputs(requests: unknown, call: AskingCall): Promise<Readonly<Record<string, object>>> {
  const asked = Object.entries(isRecord(requests) ? requests : {});
  // Each request listens to it.
  setMaxListeners(0, call.signal);
  const answers = await Promise.all(asked.map(async ([key, request]) => [key, await answerInput(key, request, call)]));
  return Object.fromEntries(answers) as Readonly<Record<string, object>>;
}

async function answerInput(key: string, request: unknown, { name, elicit, client, signal }: AskingCall) {
  const { method, params = {} } = isRecord(request) ? request : {};
  const capability = capabilityOf(method);
  if (capability !== undefined && isRecord(params)) {
    if (client === undefined) throw lacksCapability(name, capability);
    return client.request({ capability, params: params as JsonObject, id: key }, signal);
  }
  if (method !== 'elicitation/create' || !isRecord(params)) {
    const shown = quoteOutside(String(method), 60);
    throw new ToolError('unavailable', `its server requested "${shown}", which is not supported`, {
      hint: 'elicitation, sampling and roots are supported',
    });
  }
  const question = { ...toElicitation(params as JsonObject), id: key };
  return elicit === undefined ? { action: 'cancel' } : elicit(question, signal);
}
