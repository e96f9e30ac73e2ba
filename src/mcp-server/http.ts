// Serves a toolbox over Streamable HTTP: access, paths and limits, and requests of the newer protocol version.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { nextTurn } from '../core/async.js';
import { isToolError } from '../core/error.js';
import { isRecord, type Json, parseJson } from '../core/json.js';
import { count } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { findClient } from '../net/client-address.js';
import { ERROR, RpcError } from '../net/mcp.js';
import type { PageRequest, PageResponse } from '../net/page.js';
import { findHeaderMismatch } from '../net/param-headers.js';
import { type AccessOptions, authenticate, checkHost, findMetadata, type Refusal } from './access.js';
import { type ApprovalsOptions, isApprovalPath, serveApprovals } from './approvals.js';
import { carriesConsent } from './client-prompts.js';
import { createBodyReader, type Exchange, FetchExchange, NodeExchange, respondError } from './exchange.js';
import { type Identity, identityKey, toCaller } from './identity.js';
import { assertExactCall, isRequest, type Message, type RequestMessage } from './message.js';
import { Client } from './request.js';
import { createMcpServer, type McpServer, type McpServerOptions } from './server.js';
import { createSessions } from './sessions.js';
import { Responder, type ResponderOptions } from './sse.js';
import { mismatch, readNewer } from './version.js';

/** Options of `createMcpHttp`. */
export interface HttpOptions extends Pick<McpServerOptions, 'version' | 'onError' | 'notices' | 'shared'> {
  /** Who may use the server. */
  readonly access: AccessOptions;
  /** The approvals that users list and answer at `/approvals`. */
  readonly approvals?: ApprovalsOptions;
  /** Returns the page `/metrics`, in the text format of Prometheus. */
  readonly metrics?: () => Promise<string>;
  /** Answers requests for pages of people, below their path; browsers send no token for them. */
  readonly pages?: { readonly path: string; answer(request: PageRequest): Promise<PageResponse> };
  /** Whether calls can be served now, for `/readyz`; without it they always can. */
  readonly isReady?: () => Promise<boolean>;
}

/** An MCP server over HTTP. */
export interface HttpHandler {
  /** Listener for a server of `node:http`. */
  listener(request: IncomingMessage, response: ServerResponse): void;
  /** The same for servers of the Fetch API. */
  fetch(request: Request): Promise<Response>;
  /** Fails questions that no client can answer any more, and cancels calls that wait for approval. */
  abandonQuestions(): void;
  /** Ends all sessions. */
  close(): Promise<void>;
}

/** Path of the MCP endpoint. */
export const MCP_PATH = '/mcp';
const METRICS_PATH = '/metrics';
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const HEALTH_PATHS = ['/healthz', '/readyz'];

const MAX_BODY_BYTES = 12 * 1024 * 1024;
// All bodies of this process that have not arrived completely take 256 MiB.
const readBody = createBodyReader(256 * 1024 * 1024);
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BODY_BYTES, isReadAtOnce: true };
// Requests whose body has been read. Slow bodies and open event streams are limited elsewhere.
const MAX_REQUESTS = 256;
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };
const METHODS = ['POST', 'GET', 'DELETE'];
const NO_CONSENT = 'consent is not taken from a process that a tool started, or that cannot be found';

/** Creates an MCP server over HTTP, to mount in a server of your own. */
export function createMcpHttp(toolbox: Toolbox, options: HttpOptions): HttpHandler {
  const server = createMcpServer(toolbox, { ...options, transport: 'tcp' });
  const sessions = createSessions({ server, shared: options.shared, onError: options.onError });
  server.listings.onChange(sessions.announce);
  let running = 0;

  const serveBody = async (exchange: Exchange, body: Json): Promise<void> => {
    if (running >= MAX_REQUESTS) return respondError(exchange, 503, 'too many concurrent requests');
    running++;
    exchange.onBegin = () => void running--;
    // SRV-88: an answer can come on another connection than the call.
    if (carriesConsent(body) && !(await exchange.mayConsent())) return respondError(exchange, 403, NO_CONSENT);
    let message: Message | undefined;
    try {
      message = readNewer(body, (name) => exchange.header(name));
      if (message !== undefined) await assertParamHeaders(server, exchange, message);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return respondError(exchange, 400, error.message, error.code, { id: idOf(body), data: error.data });
    }
    if (message === undefined) return sessions.handle(exchange, body);
    if (!isRequest(message)) return exchange.respond(202, {});
    return answerNewer(server, exchange, message);
  };
  const serve = async (exchange: Exchange): Promise<void> => {
    const path = exchange.target.split('?', 1)[0]!;
    // For probes, which have no token and use any name of this machine; the answer says nothing else (FLT-87).
    if (HEALTH_PATHS.includes(path)) {
      const isReady = path === '/healthz' || (await options.isReady?.()) !== false;
      if (isReady) return respondPage(exchange, 'text/plain', async () => 'ok\n');
      return respondError(exchange, 503, 'not ready');
    }
    const header = (name: string) => exchange.header(name);
    // For clients that are not logged in yet, also on pages of other sites.
    const metadata = findMetadata(path, options.access);
    if (metadata !== undefined)
      return respondPage(exchange, 'application/json', async () => JSON.stringify(metadata), ANY_ORIGIN);
    const foreign = checkHost(header, options.access);
    if (foreign !== undefined) return refuse(exchange, foreign);
    if (options.pages !== undefined && path.startsWith(options.pages.path)) {
      const { method, target } = exchange;
      const page = await options.pages.answer({ method, target, cookie: header('cookie') });
      return exchange.respond(page.status, page.headers, [page.body]);
    }
    const { identity, refusal } = await authenticate(header, options.access);
    if (refusal !== undefined) return refuse(exchange, refusal);
    exchange.identity = identity;
    exchange.address = findClient(
      { address: exchange.peer, forwardedFor: header('x-forwarded-for'), forwarded: header('forwarded') },
      options.access.trustedProxies?.() ?? [],
    );
    if (path === '/') return describeServer(exchange, toolbox);
    if (path === METRICS_PATH && options.metrics !== undefined)
      return respondPage(exchange, PROMETHEUS_TYPE, options.metrics);
    if (isApprovalPath(path, options.approvals)) return serveApprovals(exchange, path, options.approvals);
    if (path !== MCP_PATH) return respondError(exchange, 404, `not found; the MCP endpoint is ${MCP_PATH}`);
    if (!METHODS.includes(exchange.method))
      return respondError(exchange, 405, 'method not allowed; use POST, GET or DELETE');
    // GET opens a stream and DELETE ends a session, both only in the older protocol version.
    if (exchange.method !== 'POST') return sessions.handle(exchange, undefined);
    if (!isJson(exchange.header('content-type')))
      return respondError(exchange, 415, 'Content-Type must be application/json');
    const text = await exchange.readBody(MAX_BODY_BYTES);
    if (text === undefined) return respondError(exchange, 413, 'the body is larger than 12 MiB');
    let body: Json = null;
    try {
      body = parseJson(text, 'the body', BOUNDS);
      assertExactCall(body, text);
    } catch (error) {
      return respondError(exchange, 400, isToolError(error) ? error.message : 'the body is not JSON', ERROR.parse, {
        id: idOf(body),
      });
    }
    return serveBody(exchange, body);
  };
  const serveSafely = (exchange: Exchange): void => {
    serve(exchange).catch((error: unknown) => {
      options.onError?.(error as Error);
      if (!exchange.hasBegun) respondError(exchange, 500, 'Internal server error', ERROR.internal);
    });
  };

  return {
    listener: (request, response) => serveSafely(new NodeExchange(request, response, readBody)),
    async fetch(request) {
      const exchange = new FetchExchange(request);
      serveSafely(exchange);
      return exchange.response;
    },
    abandonQuestions: server.abandonQuestions,
    async close() {
      server.close();
      // Subscriptions end with a last message.
      await nextTurn();
      sessions.close();
    },
  };
}

function refuse(exchange: Exchange, { status, headers, message }: Refusal): void {
  exchange.respond(status, { 'content-type': 'application/json', ...headers }, [JSON.stringify({ error: message })]);
}

// SRV-18: parameters must agree with the headers that repeat them in the newer version.
async function assertParamHeaders({ listings, modes }: McpServer, exchange: Exchange, message: Message): Promise<void> {
  const { method, params } = message;
  if (method !== 'tools/call') return;
  const { identity } = exchange;
  const mode = modes.of({ session: sessionOf(identity), sessionEnd: 'none' });
  const declared = (await listings.of(identity, mode).known()).headers.get(String(params?.name));
  const headerOf = (name: string) => exchange.header(name.toLowerCase()) ?? null;
  const found = declared && findHeaderMismatch(declared, params?.arguments, headerOf);
  if (found !== undefined) throw mismatch(found.header, found.problem);
}

// The id of a request that is refused, if it can be read.
function idOf(body: Json): string | number | null {
  const { id, method } = isRecord(body) ? body : {};
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : null;
}

const INDEPENDENT: ResponderOptions = { headers: {}, requests: 1, isPrimed: false };
const STATUSES: ReadonlyMap<number | undefined, number> = new Map([
  [ERROR.methodNotFound, 404],
  [ERROR.missingCapability, 400],
]);

async function answerNewer(server: McpServer, exchange: Exchange, message: RequestMessage): Promise<void> {
  const responder = new Responder(exchange, INDEPENDENT);
  const send = (text: string): void => responder.send(text);
  // This version has no sessions: all clients of a user, or all with access, share one.
  const client = new Client(sessionOf(exchange.identity), send, false);
  // A client cancels its request by closing the response.
  exchange.onDisconnect(() => client.close());
  const answer = await server.answer(message, { client, exchange, isNewer: true, send });
  if (answer === undefined) responder.end();
  else responder.answer(answer.parts, STATUSES.get(answer.code) ?? 200);
}

function sessionOf(identity: Identity | undefined): string {
  const key = identityKey(identity);
  return key === undefined ? 'http' : `http ${key}`;
}

function isJson(type: string | undefined): boolean {
  return type === 'application/json' || /^\s*application\/json\s*(?:;[^,]*)?$/i.test(type ?? '');
}

async function respondPage(
  exchange: Exchange,
  type: string,
  write: () => Promise<string>,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD')
    return respondError(exchange, 405, 'method not allowed; use GET');
  const headers = { 'content-type': type, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...more };
  exchange.respond(200, headers, [await write()]);
}

// For people who open the address in a browser.
async function describeServer(exchange: Exchange, toolbox: Toolbox): Promise<void> {
  return respondPage(exchange, 'text/plain; charset=utf-8', async () => {
    const listed = await toolbox.list({ caller: toCaller(exchange.identity), knownOnly: true });
    const tools = listed.filter(({ origin }) => origin.builtin !== true);
    const lines = [
      'wield: an MCP server with tools for AI agents.',
      '',
      `  MCP endpoint (Streamable HTTP): http://${exchange.header('host')}${MCP_PATH}`,
      `  ${count(tools.length, 'tool')}: ${tools
        .slice(0, 20)
        .map((tool) => tool.name)
        .join(', ')}${tools.length > 20 ? ', …' : ''}`,
      '',
      'Connect an agent to the endpoint; there is nothing else to see in a browser.',
      '',
    ];
    return lines.join('\n');
  });
}
