// A fetch for upstream servers: it asks one origin only, by addresses that were judged, and follows no redirect blindly (A54).

import type { Agent, IncomingMessage } from 'node:http';
import { ToolError } from '../../core/error.js';
import { formatDuration } from '../../core/text.js';
import { judgeHost, type Reach } from './address.js';
import { toBody } from './body.js';
import { exchange, type Lookup } from './exchange.js';
import { showUrl, unreachable } from './fault.js';
import { assertFollowable, findTarget, otherOrigin } from './redirect.js';

/** What the protocol's client takes as its fetch. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface GuardedFetchOptions {
  /** The configured address. Its host says how near an address may be: a public one leads to no private one. */
  readonly url: string;
  /** Configured headers, with secrets in them: sent with every request, since all go to that one origin. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Metadata and tokens may lie at other origins; then no configured header is sent to any. */
  readonly anyOrigin?: boolean;
  /** Lets a public name lead to private and loopback addresses; never to link-local ones. */
  readonly allowPrivate?: boolean;
  /** How long an exchange may take as a whole; unbounded for calls, which have limits of their own. */
  readonly timeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** The most of an answer, or of one event where it is a stream of those. */
  readonly maxBytes?: number;
  readonly lookup?: Lookup;
}

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
// Shorter than servers keep theirs: one that they close in the moment of use would lose a message.
const IDLE_MS = 4_000;
const WITHOUT_BODY = new Set([204, 205, 304]);
// What belongs to the connection, not to a message; and what says how long it is.
const OWN_HEADERS =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;

const sentTokens = new WeakMap<Response, string>();

/** The `authorization` that an answer is the answer to. */
export function sentAuthorization(response: Response): string | undefined {
  return sentTokens.get(response);
}

/** Throws `invalid_definition` where the configuration can never be asked; what it returns throws ToolErrors. */
export function createGuardedFetch(options: GuardedFetchOptions): Fetch {
  const configured = parseUrl(options.url);
  const own = toHeaders(options.anyOrigin ? {} : (options.headers ?? {}));
  const reach: Reach = options.allowPrivate ? 'loopback' : reachOf(configured);
  const agents = new Map<string, Agent>();
  const agentFor = ({ protocol }: URL): Agent => {
    const found = agents.get(protocol);
    if (found !== undefined) return found;
    const { Agent } = process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http');
    const made = new Agent({ keepAlive: true, timeout: IDLE_MS });
    agents.set(protocol, made);
    return made;
  };

  const ask = (url: URL, request: Request): Promise<IncomingMessage> => {
    if (!options.anyOrigin && url.origin !== configured.origin) throw otherOrigin(configured, url);
    assertConfidential(url, request, options.anyOrigin === true ? undefined : own);
    return exchange({
      url,
      method: request.method,
      headers: { ...own, ...request.headers, 'accept-encoding': 'identity' },
      body: request.body,
      signal: request.signal,
      agent: agentFor(url),
      reach,
      lookup: options.lookup ?? process.getBuiltinModule('node:dns').lookup,
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      maxHeaderBytes: MAX_HEADER_BYTES,
    });
  };

  return async (input, init = {}) => {
    const limit = options.timeoutMs === undefined ? undefined : AbortSignal.timeout(options.timeoutMs);
    const request = toRequest(init, limit);
    let url = parseUrl(input);
    try {
      for (let followed = 0; ; followed++) {
        const message = await ask(url, request);
        const target = findTarget(message, url);
        if (target === undefined || (options.anyOrigin && init.redirect === 'manual'))
          return toResponse(message, { url, request, maxBytes: options.maxBytes ?? MAX_BYTES });
        message.destroy();
        assertFollowable({
          from: url,
          to: target,
          status: message.statusCode!,
          method: request.method,
          followed,
        });
        url = target;
      }
    } catch (thrown) {
      throw limit?.aborted && thrown === limit.reason ? slow(url, options.timeoutMs!) : thrown;
    }
  };
}

interface Request {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
}

function toRequest(init: RequestInit, limit: AbortSignal | undefined): Request {
  const headers = toHeaders(toRecord(init.headers));
  const { body } = init;
  if (body instanceof URLSearchParams) headers['content-type'] ??= 'application/x-www-form-urlencoded';
  const bytes = toBytes(body);
  if (bytes !== undefined) headers['content-length'] = String(bytes.length);
  const signals = [init.signal, limit].filter((signal) => signal != null);
  return {
    method: (init.method ?? 'GET').toUpperCase(),
    headers,
    body: bytes,
    signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0],
  };
}

function toRecord(headers: RequestInit['headers']): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    throw new ToolError('invalid_definition', 'a header of the request cannot be sent', {
      hint: 'wield mcp login NAME gets a new token; values of headers are one line of plain text',
    });
  }
}

function toBytes(body: RequestInit['body']): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof URLSearchParams) return Buffer.from(String(body));
  if (body instanceof Uint8Array) return body;
  throw new ToolError('internal', 'a body of this kind cannot be sent again after a redirect', {
    hint: 'send a string or bytes',
  });
}

/** Headers in lower case. What is wrong with one is told by its name: its value can be a secret. */
function toHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');
  const lower: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw new ToolError('invalid_definition', `the header ${JSON.stringify(name)} cannot be sent`, {
        hint: 'names are letters, digits and dashes; values are one line of plain text',
      });
    }
    if (OWN_HEADERS.test(name)) {
      throw new ToolError('invalid_definition', `the header ${name} is set by wield itself`, {
        hint: 'take it out of the headers of the server',
      });
    }
    lower[name.toLowerCase()] = value;
  }
  return lower;
}

function parseUrl(input: string | URL): URL {
  let url: URL | undefined;
  try {
    url = new URL(input);
  } catch {
    // Said below, without the text: it can have a secret in it.
  }
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ToolError(
      'invalid_definition',
      'the url of an upstream server must begin with https:// or http://',
      {
        hint: 'write it in full, e.g. https://example.com/mcp',
      },
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new ToolError('invalid_definition', `the url of ${showUrl(url)} has credentials in it`, {
      hint: 'put them into a header, as a reference to a variable of the environment',
    });
  }
  // A final dot names the same host.
  url.hostname = url.hostname.replace(/\.+$/, '');
  return url;
}

function reachOf(configured: URL): Reach {
  const found = judgeHost(configured.hostname).class;
  return found === 'forbidden' ? 'public' : found;
}

// Without TLS everybody on the way reads along. What is posted for a login, to any origin, is secret as a whole.
function assertConfidential(
  url: URL,
  { headers, body }: Request,
  own: Readonly<Record<string, string>> | undefined,
): void {
  if (url.protocol === 'https:' || judgeHost(url.hostname).class === 'loopback') return;
  const name =
    Object.keys(own ?? {})[0] ?? (headers.authorization === undefined ? undefined : 'authorization');
  const posted = own === undefined && body !== undefined;
  if (name === undefined && !posted) return;
  throw unreachable(
    `${name === undefined ? 'what a login says' : `the header ${name}`} would go to ${showUrl(url)} in the clear, so it was not sent`,
    'use an https:// address; http:// with headers or a login is for this machine only',
    { url: showUrl(url) },
  );
}

function slow(url: URL, timeoutMs: number): ToolError {
  return new ToolError('timeout', `${showUrl(url)} did not answer within ${formatDuration(timeoutMs)}`, {
    hint: 'call again; if it stays so, look at the log of the server',
    data: { url: showUrl(url) },
  });
}

function toResponse(
  message: IncomingMessage,
  { url, request, maxBytes }: { readonly url: URL; readonly request: Request; readonly maxBytes: number },
): Response {
  const encoding = message.headers['content-encoding'];
  const status = message.statusCode ?? 0;
  if ((encoding !== undefined && !/^(?:identity)?$/i.test(encoding)) || status < 200 || status > 599) {
    message.destroy();
    throw unreachable(
      `${showUrl(url)} answered in a way that was not asked for`,
      encoding === undefined
        ? 'look at the log of the server'
        : 'let it send its answers without content-encoding',
      { url: showUrl(url), status },
    );
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headersDistinct)) {
    // No cookie is kept, so none is shown.
    if (name === 'set-cookie') continue;
    for (const one of value ?? []) headers.append(name, one);
  }
  const bare = WITHOUT_BODY.has(status) || request.method === 'HEAD';
  if (bare) message.resume();
  const { signal } = request;
  const response = new Response(bare ? null : toBody(message, { url, maxBytes, signal }), {
    status,
    headers,
  });
  if (request.headers.authorization !== undefined) sentTokens.set(response, request.headers.authorization);
  return response;
}
