// A fetch for upstream servers, restricted to one origin, allowed addresses and safe redirects (A54).

import type { Agent, IncomingMessage } from 'node:http';
import { ToolError } from '../core/error.js';
import { memoize } from '../core/memoize.js';
import { formatDuration } from '../core/text.js';
import { classifyHost, type Reach } from './address.js';
import { toBody } from './body.js';
import { exchange, type Lookup } from './exchange.js';
import { showUrl, unreachable } from './fault.js';
import { assertFollowable, findTarget, otherOrigin } from './redirect.js';
import { DIRECT, type FindRoute, type Route } from './route.js';
import { createAgent } from './tunnel.js';

/** The fetch function that the SDK accepts. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Creates a fetch that follows the settings of the network: `createFetch` of a `Network`. */
export type CreateFetch = (options: GuardedFetchOptions) => Fetch;

export interface GuardedFetchOptions {
  /** The configured URL. Its host decides which addresses are allowed: a public one must not resolve to a private one. */
  readonly url: string;
  /** Configured headers, possibly with secrets: sent with every request to the one origin. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Allows other origins, for OAuth metadata and tokens; configured headers are then not sent. */
  readonly anyOrigin?: boolean;
  /** Follows redirects to other origins over https, for downloads without credentials; needs `anyOrigin`. */
  readonly isDownload?: boolean;
  /** Lets a public name resolve to private and loopback addresses, but not link-local ones. */
  readonly allowPrivate?: boolean;
  /** Timeout of a whole exchange; calls have their own time limits. */
  readonly timeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** Limit of a response. */
  readonly maxBytes?: number;
  /** Limits a single event of an event stream instead, which may never end. */
  readonly limitsEvents?: boolean;
  /** Requests have credentials anywhere, which need encryption. */
  readonly confidential?: boolean;
  readonly lookup?: Lookup;
  /** Returns the way of a request; all are direct without it. */
  readonly findRoute?: FindRoute;
  /** Throws if a request must not go to an address; asked for redirects too. */
  readonly allows?: ((url: URL) => void) | undefined;
}

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
const WITHOUT_BODY = new Set([204, 205, 304]);
// Headers that wield sets itself.
const RESERVED_HEADERS =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;

/** Throws `invalid_definition` for an invalid configuration; the returned fetch throws ToolErrors. */
export function createGuardedFetch(options: GuardedFetchOptions): Fetch {
  const configured = parseUrl(options.url);
  const own = toHeaders(options.anyOrigin ? {} : (options.headers ?? {}));
  const reach: Reach = options.allowPrivate ? 'loopback' : reachOf(configured);
  const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const agentsOf = memoize((_: Route) => new Map<string, Agent>());
  const agentFor = ({ protocol }: URL, route: Route): Agent => {
    const agents = agentsOf(route);
    const agent = agents.get(protocol) ?? createAgent(protocol, route, connectTimeoutMs);
    agents.set(protocol, agent);
    return agent;
  };

  const send = (url: URL, request: Request, route: Route): Promise<IncomingMessage> => {
    if (!options.anyOrigin && url.origin !== configured.origin) throw otherOrigin(configured, url);
    options.allows?.(url);
    assertConfidential(url, request, own, options);
    return exchange({
      url,
      method: request.method,
      headers: { ...own, ...request.headers, 'accept-encoding': 'identity' },
      body: request.body,
      signal: request.signal,
      agent: agentFor(url, route),
      route,
      reach,
      lookup: options.lookup ?? process.getBuiltinModule('node:dns').lookup,
      connectTimeoutMs,
      maxHeaderBytes: MAX_HEADER_BYTES,
    });
  };

  return async (input, init = {}) => {
    const limit = options.timeoutMs === undefined ? undefined : AbortSignal.timeout(options.timeoutMs);
    const request = toRequest(init, limit);
    let url = parseUrl(input);
    try {
      for (let followed = 0; ; followed++) {
        const route = (await options.findRoute?.(url)) ?? DIRECT;
        const message = await send(url, request, route);
        const target = findTarget(message, url);
        if (target === undefined || (options.anyOrigin && init.redirect === 'manual'))
          return toResponse(message, url, { ...request, proxy: route.proxy?.url }, options);
        message.destroy();
        assertFollowable({
          from: url,
          to: target,
          status: message.statusCode!,
          method: request.method,
          followed,
          anyHttps: options.isDownload === true,
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
    throw new ToolError('invalid_definition', 'a header of the request is invalid', {
      hint: 'header values must be one line of text; for a new token: wield mcp login NAME',
    });
  }
}

function toBytes(body: RequestInit['body']): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string' || body instanceof URLSearchParams) return Buffer.from(String(body));
  if (body instanceof Uint8Array) return body;
  throw new ToolError('internal', 'unsupported request body', { hint: 'send a string or bytes' });
}

/** Validates headers and converts their names to lower case. Errors contain only names: values may be secrets. */
function toHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');
  const lower: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw new ToolError('invalid_definition', `invalid header ${JSON.stringify(name)}`, {
        hint: 'names must be letters, digits and dashes; values must be one line of text',
      });
    }
    if (RESERVED_HEADERS.test(name)) {
      throw new ToolError('invalid_definition', `the header ${name} is set by wield itself`, {
        hint: 'remove it from the headers of the server',
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
    // Reported below without the text, which may contain a secret.
  }
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ToolError('invalid_definition', 'the url of an upstream server must begin with https:// or http://', {
      hint: 'write it in full, e.g. https://example.com/mcp',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new ToolError('invalid_definition', `the url ${showUrl(url)} contains credentials`, {
      hint: 'use a header with a reference to a variable, such as "Authorization": "Bearer ${TOKEN}"',
    });
  }
  // A trailing dot names the same host.
  url.hostname = url.hostname.replace(/\.+$/, '');
  return url;
}

function reachOf(configured: URL): Reach {
  const found = classifyHost(configured.hostname).class;
  return found === 'forbidden' ? 'public' : found;
}

// Without TLS, headers are readable on the network. Requests of a login are secret, and metadata that can be changed on
// its way decides where the secrets go.
function assertConfidential(
  url: URL,
  { headers }: Request,
  own: Readonly<Record<string, string>>,
  { anyOrigin, isDownload, confidential }: GuardedFetchOptions,
): void {
  if (url.protocol === 'https:' || classifyHost(url.hostname).class === 'loopback') return;
  const name = Object.keys(own)[0] ?? (headers.authorization === undefined ? undefined : 'authorization');
  const isLogin = anyOrigin === true && isDownload !== true;
  if (!confidential && name === undefined && !isLogin) return;
  const [what, which] = confidential
    ? ['the credentials', 'credentials']
    : [name === undefined ? 'the login' : `the header ${name}`, 'headers or a login'];
  throw unreachable(
    `not sent: ${what} would go to ${showUrl(url)} unencrypted`,
    `use an https:// URL; http:// with ${which} is allowed on this machine only`,
    { url: showUrl(url) },
  );
}

function slow(url: URL, timeoutMs: number): ToolError {
  return new ToolError('timeout', `${showUrl(url)} did not respond within ${formatDuration(timeoutMs)}`, {
    hint: 'try again; if it persists, check the log of the server',
    data: { url: showUrl(url) },
  });
}

function toResponse(
  message: IncomingMessage,
  url: URL,
  request: Request & { readonly proxy: URL | undefined },
  { maxBytes = MAX_BYTES, limitsEvents = false }: GuardedFetchOptions,
): Response {
  const encoding = message.headers['content-encoding'];
  const status = message.statusCode ?? 0;
  if ((encoding !== undefined && !/^(?:identity)?$/i.test(encoding)) || status < 200 || status > 599) {
    message.destroy();
    throw unreachable(
      encoding === undefined
        ? `${showUrl(url)} sent an invalid status`
        : `${showUrl(url)} sent a compressed response, which was not requested`,
      encoding === undefined ? 'check the log of the server' : 'turn off content-encoding on the server',
      { url: showUrl(url), status },
    );
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headersDistinct)) {
    // Cookies are not supported.
    if (name === 'set-cookie') continue;
    for (const one of value ?? []) headers.append(name, one);
  }
  const bare = WITHOUT_BODY.has(status) || request.method === 'HEAD';
  if (bare) message.resume();
  const { signal, proxy } = request;
  const body = bare ? null : toBody(message, { url, maxBytes, limitsEvents, signal, proxy });
  return new Response(body, { status, headers });
}
