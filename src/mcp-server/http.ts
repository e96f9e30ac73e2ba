// Serves a toolbox over Streamable HTTP: by the lane, and by the SDK server for what the lane does not answer.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isToolError } from '../core/error.js';
import { type Json, parseJson } from '../core/json.js';
import { OpenMap } from '../core/open-map.js';
import { count } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { findHeaderMismatch } from '../net/param-headers.js';
import { type AccessOptions, checkAccess, type Refusal } from './access.js';
import { createBodyReader } from './body.js';
import { carriesConsent } from './client-prompts.js';
import { type Exchange, FetchExchange, NodeExchange, respondError } from './exchange.js';
import { RequestPeer } from './http-peer.js';
import { createLane, type Lane, type LaneOptions, type LaneRequest } from './lane.js';
import { MODEL } from './listing.js';
import {
  ERROR,
  hasEnvelope,
  META,
  type Message,
  metaOf,
  NEWER_VERSION,
  type RequestId,
  type RequestMessage,
  toMessage,
} from './message.js';
import { PROMETHEUS_TYPE } from './prometheus.js';
import { Responder, type ResponderOptions } from './responder.js';
import { isHot } from './routes.js';
import type { SdkHttp } from './sdk-http.js';
import { createSessions } from './sessions.js';

export interface HttpOptions extends Pick<LaneOptions, 'version' | 'onError' | 'shared'> {
  readonly access: AccessOptions;
  /** Returns the page `/metrics`, in the text format of Prometheus. */
  readonly metrics?: () => Promise<string>;
  /** Whether calls can be served now, for `/readyz`; without it they always can. */
  readonly isReady?: () => Promise<boolean>;
}

export interface HttpHandler {
  /** Listener for a server of `node:http`. */
  listener(request: IncomingMessage, response: ServerResponse): void;
  /** The same for servers of the Fetch API. */
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Path of the MCP endpoint. */
export const MCP_PATH = '/mcp';
const METRICS_PATH = '/metrics';
const HEALTH_PATHS = ['/healthz', '/readyz'];

const MAX_BODY_BYTES = 12 * 1024 * 1024;
// All bodies of this process that have not arrived completely take 256 MiB.
const readBody = createBodyReader(256 * 1024 * 1024);
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BODY_BYTES, isReadAtOnce: true };
// Requests whose body has been read. Slow bodies and open event streams are limited elsewhere.
const MAX_REQUESTS = 256;
// The protocol's code for headers that differ from the body.
const HEADER_MISMATCH = -32020;
const METHODS = ['POST', 'GET', 'DELETE'];
const NO_CONSENT = 'consent is not taken from a process that a tool started, or that cannot be found';

export function createMcpHttp(toolbox: Toolbox, options: HttpOptions): HttpHandler {
  const lane = createLane(toolbox, options);
  const sdk = createLoader(async () => {
    const { createSdkHttp } = await import('./sdk-http.js');
    return createSdkHttp(toolbox, { ...options, lane, maxBodyBytes: MAX_BODY_BYTES });
  });
  const sessions = createSessions({
    lane,
    shared: options.shared,
    onError: options.onError,
    connectSdk: async (session, initialize, send) => (await sdk.load()).connect(session, initialize, send),
  });
  lane.onChange(() => {
    sdk.loaded()?.announceTools();
    sessions.announce('tools');
  });
  lane.onOffersChange((kind) => {
    sdk.loaded()?.announceOffers(kind);
    sessions.announce(kind);
  });
  let running = 0;

  const serveBody = async (exchange: Exchange, body: Json): Promise<void> => {
    if (running >= MAX_REQUESTS) return respondError(exchange, 503, 'too many concurrent requests');
    running++;
    exchange.onBegin = () => void running--;
    // SRV-88: an answer can come on another connection than the call.
    if (carriesConsent(body) && !exchange.mayConsent()) return respondError(exchange, 403, NO_CONSENT);
    const message = toMessage(body);
    if (message !== undefined && isOlder(exchange, message)) return sessions.handle(exchange, body);
    const isHot = message !== undefined && isHotRequest(exchange, message);
    const decided = isHot ? undefined : await sdk.load();
    const request = decided && exchange.toRequest();
    if (await decided?.isOlder(request!, body)) return sessions.handle(exchange, body);
    if (await rejectMismatch(lane, exchange, message)) return;
    if (isHot) return answerNewer(lane, exchange, message as RequestMessage);
    exchange.forward(await decided!.handle(request!, body));
  };
  const serve = async (exchange: Exchange): Promise<void> => {
    const path = exchange.target.split('?', 1)[0]!;
    // For probes, which have no token and use any name of this machine; the answer says nothing else (FLT-87).
    if (HEALTH_PATHS.includes(path)) {
      const isReady = path === '/healthz' || (await options.isReady?.()) !== false;
      if (isReady) return respondPage(exchange, 'text/plain', async () => 'ok\n');
      return respondError(exchange, 503, 'not ready');
    }
    const refusal = checkAccess((name) => exchange.header(name), options.access);
    if (refusal !== undefined) return refuse(exchange, refusal);
    if (path === '/') return describeServer(exchange, toolbox);
    if (path === METRICS_PATH && options.metrics !== undefined)
      return respondPage(exchange, PROMETHEUS_TYPE, options.metrics);
    if (path !== MCP_PATH) return respondError(exchange, 404, `not found; the MCP endpoint is ${MCP_PATH}`);
    if (!METHODS.includes(exchange.method))
      return respondError(exchange, 405, 'method not allowed; use POST, GET or DELETE');
    // GET opens a stream and DELETE ends a session, both only in the older protocol version.
    if (exchange.method !== 'POST') return sessions.handle(exchange, undefined);
    if (!isJson(exchange.header('content-type')))
      return respondError(exchange, 415, 'Content-Type must be application/json');
    const text = await exchange.readBody(MAX_BODY_BYTES);
    if (text === undefined) return respondError(exchange, 413, 'the body is larger than 12 MiB');
    let body: Json;
    try {
      body = parseJson(text, 'the body', BOUNDS);
    } catch (error) {
      return respondError(exchange, 400, isToolError(error) ? error.message : 'the body is not JSON', ERROR.parse);
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
    async close() {
      lane.close();
      sessions.close();
      await sdk.loaded()?.close();
    },
  };
}

function refuse(exchange: Exchange, { status, headers, message }: Refusal): void {
  exchange.respond(status, { 'content-type': 'application/json', ...headers }, [JSON.stringify({ error: message })]);
}

function createLoader(load: () => Promise<SdkHttp>) {
  let loading: Promise<SdkHttp> | undefined;
  let loaded: SdkHttp | undefined;
  return {
    loaded: () => loaded,
    load(): Promise<SdkHttp> {
      loading ??= load().then((sdk) => {
        loaded = sdk;
        return sdk;
      });
      return loading;
    },
  };
}

// Responds with an error if parameters differ from the headers that repeat them in the newer version (SRV-18).
async function rejectMismatch({ listing }: Lane, exchange: Exchange, message: Message | undefined): Promise<boolean> {
  if (message?.method !== 'tools/call') return false;
  const { headers } = listing.newest() ?? (await listing.known());
  const declared = headers.get(String(message.params?.name));
  const headerOf = (name: string) => exchange.header(name.toLowerCase()) ?? null;
  const mismatch = declared && findHeaderMismatch(declared, message.params?.arguments, headerOf);
  if (mismatch === undefined) return false;
  const { header, problem } = mismatch;
  respondError(exchange, 400, problem, HEADER_MISMATCH, message.id, { mismatch: { header, body: problem } });
  return true;
}

// The newer version repeats parts of the body in headers, which must agree.
function isHotRequest(exchange: Exchange, message: Message): message is RequestMessage {
  const { id, method, params } = message;
  return (
    id !== undefined &&
    method !== undefined &&
    metaOf(params)?.[META.version] === NEWER_VERSION &&
    exchange.header('mcp-protocol-version') === NEWER_VERSION &&
    exchange.header('mcp-method') === method &&
    (method !== 'tools/call' || exchange.header('mcp-name') === params?.name) &&
    isHot(message as RequestMessage, true)
  );
}

const INDEPENDENT: ResponderOptions = { headers: {}, requests: 1, isPrimed: false };

async function answerNewer(lane: Lane, exchange: Exchange, message: RequestMessage): Promise<void> {
  const running = new OpenMap<RequestId, LaneRequest>();
  const responder = new Responder(exchange, INDEPENDENT);
  const peer = new RequestPeer(responder, exchange);
  // A client cancels its request by closing the response.
  exchange.onDisconnect(() => {
    for (const request of running.values()) request.cancel();
  });
  const parts = await lane.answer(message, peer, running);
  if (parts === undefined) responder.end();
  else responder.answer(parts, lacksCapability(message, parts) ? 400 : 200);
}

function lacksCapability({ id }: RequestMessage, [first]: readonly (string | Buffer)[]): boolean {
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":${ERROR.missingCapability},`;
  return typeof first === 'string' && first.startsWith(start);
}

// Whether a message is certainly of the older version; the SDK decides on others.
function isOlder(exchange: Exchange, { method, params }: Message): boolean {
  if (method === undefined) return true;
  const version = exchange.header('mcp-protocol-version');
  return !hasEnvelope(params) && (version === undefined || version < NEWER_VERSION);
}

function isJson(type: string | undefined): boolean {
  return type === 'application/json' || /^\s*application\/json\s*(?:;[^,]*)?$/i.test(type ?? '');
}

async function respondPage(exchange: Exchange, type: string, write: () => Promise<string>): Promise<void> {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD')
    return respondError(exchange, 405, 'method not allowed; use GET');
  const headers = { 'content-type': type, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
  exchange.respond(200, headers, [await write()]);
}

// For people who open the address in a browser.
async function describeServer(exchange: Exchange, toolbox: Toolbox): Promise<void> {
  return respondPage(exchange, 'text/plain; charset=utf-8', async () => {
    const listed = await toolbox.list({ caller: MODEL, knownOnly: true });
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
