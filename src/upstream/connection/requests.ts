// Requests of a server during a call, to the person and the client behind it, in both protocol versions.

import { setMaxListeners } from 'node:events';
import {
  CLIENT_METHODS,
  type ClientRequest,
  capabilityOf,
  lacksCapability,
  type RequestClient,
} from '../../core/client-request.js';
import type { Elicit, Elicitation } from '../../core/elicit.js';
import { ToolError, toToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { ERROR, RpcError } from '../../net/mcp.js';
import type { Client, Fields } from './client.js';
import type { ConnectOptions } from './handshake.js';

/** The parts of a call that answer requests of its server. */
export interface AskingCall {
  readonly name: string;
  readonly elicit?: Elicit | undefined;
  readonly client?: RequestClient | undefined;
  readonly signal: AbortSignal;
}

interface PersonalCall extends AskingCall {
  /** Identifies the person behind the call. */
  readonly person: string;
}

// The code of the protocol for a request that was refused.
const REFUSED = -1;
/** The error code of the older protocol version for "visit these pages first". */
const URL_ELICITATION_REQUIRED = -32042;
const MAX_PAGES = 8;
// More than any tool needs, and few enough to dismiss one by one.
const MAX_REQUESTS = 16;

/** Answers a ping, and requests of a server of the older protocol version: elicitation, sampling and roots. */
export function serveRequests(
  client: Client,
  calls: ReadonlySet<PersonalCall>,
  { name, announces }: ConnectOptions,
): void {
  const elicit = async (params: JsonObject, signal: AbortSignal): Promise<Fields> => {
    const found = findCall(calls, 'elicit');
    if (found === undefined) return { action: 'cancel' };
    const question = toElicitation(params);
    const message = found.isCertain ? question.message : `${name}, during one of its calls: ${question.message}`;
    const { action, content } = await found.asked({ ...question, message }, signal);
    return { action, content };
  };
  const { onRequest: refuse } = client;
  client.onRequest = async (method, params, signal) => {
    if (method === 'ping') return {};
    if (client.isModern) return refuse(method, params, signal);
    if (method === 'elicitation/create') return elicit(params, signal);
    const capability = announces.find((one) => CLIENT_METHODS[one] === method);
    if (capability === undefined) return refuse(method, params, signal);
    const found = findCall(calls, 'client');
    try {
      if (found === undefined)
        throw [...calls].some((call) => call.client !== undefined)
          ? uncertain(name)
          : lacksCapability(name, capability);
      return await found.asked.request({ capability, params }, signal);
    } catch (error) {
      const { code, message } = toToolError(error);
      throw new RpcError(code === 'unavailable' ? ERROR.methodNotFound : REFUSED, message);
    }
  };
}

// The older protocol version does not say which call asks. Of several calls that can have asked, any may pass the request
// on if the same person is behind all of them, who is then told the server instead of the tool (UPS-10).
function findCall<Key extends 'elicit' | 'client'>(calls: ReadonlySet<PersonalCall>, key: Key) {
  const able = [...calls].filter((call) => call[key] !== undefined);
  const [first] = able;
  const asked = first?.[key];
  if (first === undefined || asked === undefined || able.some(({ person }) => person !== first.person))
    return undefined;
  return { asked, isCertain: able.length === 1 };
}

// UPS-106: more clients than connections.
function uncertain(name: string): ToolError {
  return new ToolError(
    'busy',
    `${name} has calls of several clients, and did not say which of them its request is about`,
    {
      hint: 'call it again later',
    },
  );
}

// Converts the parameters of `elicitation/create`.
function toElicitation({ message, requestedSchema, url, elicitationId }: JsonObject): Elicitation {
  return {
    message: typeof message === 'string' ? message : '',
    schema: isRecord(requestedSchema) ? (requestedSchema as JsonSchema) : undefined,
    url: typeof url === 'string' ? url : undefined,
    id: typeof elicitationId === 'string' ? elicitationId : undefined,
  };
}

// For the client, "this server" is wield, with what all other servers said.
function withoutContext(request: ClientRequest): ClientRequest {
  const { params } = request;
  if (request.capability !== 'sampling' || params.includeContext !== 'thisServer') return request;
  return { ...request, params: { ...params, includeContext: 'none' } };
}

/** Limits what one call asks of the person and the client behind it, and removes secrets from it. */
export function guardRequests<Call extends AskingCall>(call: Call, redact: <T>(value: T) => T): Call {
  const { elicit, client, name } = call;
  if (elicit === undefined && client === undefined) return call;
  let asked = 0;
  const isTooMany = (): boolean => ++asked > MAX_REQUESTS;
  return {
    ...call,
    elicit:
      elicit && (async (question, signal) => (isTooMany() ? { action: 'cancel' } : elicit(redact(question), signal))),
    client: client && {
      capabilities: client.capabilities,
      async request(request, signal) {
        if (!isTooMany()) return client.request(withoutContext(redact(request)), signal);
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
