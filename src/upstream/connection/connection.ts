// A connection to one upstream server.

import { promises as timers } from 'node:timers';
import { isRecord, type Json, type JsonObject, toJson } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import { quoteOutside } from '../../core/text.js';
import { META, RpcError } from '../../net/mcp.js';
import type { RemoteTool } from '../remote-tool.js';
import { callTool, type DataRequest, type RemoteCall, requestData } from './call.js';
import { Client, type Fields } from './client.js';
import { fetchListing, type ToolListing } from './fetch-listing.js';
import { type ConnectOptions, MODERN_CAPABILITIES, type NegotiatedVersion, shakeHands } from './handshake.js';
import { guardRequests, serveRequests } from './requests.js';
import { type ResourceWatch, watchResources } from './resource-watch.js';
import type { UpstreamTransport } from './transport.js';

export interface Connection {
  listing(): ToolListing;
  /** Adds a listener for later changes. */
  onListing(listener: (listing: ToolListing) => void): void;
  /** What is known of its process. */
  readonly transport: Pick<UpstreamTransport, 'exit' | 'lastLines'>;
  readonly version: NegotiatedVersion;
  /** The negotiated protocol version, by its date. */
  readonly protocol: string;
  readonly instructions: string | undefined;
  /** What the server can do, by protocol name. */
  readonly capabilities: JsonObject;
  /** Calls a tool by its own name. A tool that failed is an Output with an error. */
  call(tool: RemoteTool, input: Json, call: RemoteCall): Promise<Output>;
  /** Reads a resource, makes the messages of a prompt, or completes an argument. */
  request(request: DataRequest, call: RemoteCall): Promise<Output>;
  readonly resources: ResourceWatch;
  /** Whether the server still knows this connection. */
  isAlive(): Promise<boolean>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

const PING_TIMEOUT_MS = 5000;
const LOG_LEVEL_TIMEOUT_MS = 5000;
// What is asked for by default. In the older version this is for all clients: what one does not want is not sent to it.
const DEFAULT_LOG_LEVEL = 'info';
const CAPABILITY_BOUNDS = { maxDepth: 8, maxBytes: 16 * 1024 };

/** Opens a connection and lists the tools. */
export async function connect(transport: UpstreamTransport, options: ConnectOptions): Promise<Connection> {
  const { name, announces, redact } = options;
  const client = new Client(transport);
  client.onError = (error) => options.debug(`${name}: ${quoteOutside(error.message, 300)}`);
  const calls = new Set<RemoteCall>();
  client.listeners.set('notifications/message', (message) => passOn(message, calls, options));
  serveRequests(client, calls, options);
  const { version, protocol, instructions, ...found } = await shakeHands(client, options);
  const capabilities = readCapabilities(found.capabilities);
  const { listing, onListing } = await watchTools(client, capabilities, options);
  const resources = watchResources(client, capabilities, options);
  const log = createLogLevels(client, capabilities);
  // The newer version says with every request what the client behind it supports, and which log messages it wants.
  const toEnvelope = (call: RemoteCall): Fields | undefined => {
    const supported = announces.filter((capability) => call.client?.capabilities[capability] !== undefined);
    const own = Object.fromEntries(supported.map((capability) => [capability, call.client!.capabilities[capability]]));
    const level = log.levelOf(call);
    if (!client.isModern || (supported.length === 0 && level === undefined)) return undefined;
    return {
      ...client.envelope,
      [META.capabilities]: { ...MODERN_CAPABILITIES, ...own },
      ...(level === undefined ? {} : { [META.logLevel]: level }),
    };
  };
  const inTurn = async (given: RemoteCall, run: (call: RemoteCall) => Promise<Output>): Promise<Output> => {
    const envelope = toEnvelope(given);
    const guarded = guardRequests(given, redact);
    const call = envelope === undefined ? guarded : { ...guarded, envelope };
    await log.prepare(call);
    calls.add(call);
    try {
      return await run(call);
    } finally {
      calls.delete(call);
    }
  };
  return {
    transport,
    version: redact(version),
    protocol,
    instructions: redact(instructions),
    capabilities: redact(capabilities),
    listing,
    onListing,
    call: (tool, input, given) => inTurn(given, (call) => callTool(client, tool, input, call)),
    request: (request, given) => inTurn(given, (call) => requestData(client, request, call)),
    resources,
    isAlive: async () => client.isModern || (await answersPing(client)),
    closed: client.closed,
    close: async () => {
      await transport.close();
      await client.closed;
    },
  };
}

function readCapabilities(value: unknown): JsonObject {
  try {
    return toJson(value ?? {}, CAPABILITY_BOUNDS) as JsonObject;
  } catch {
    return { tools: {} };
  }
}

async function answersPing(client: Client): Promise<boolean> {
  try {
    await client.request('ping', {}, { signal: AbortSignal.timeout(PING_TIMEOUT_MS) });
    return true;
  } catch (error) {
    // A server that does not know the request is there.
    return error instanceof RpcError;
  }
}

// A log message does not name its call; with calls of several persons nobody gets it.
function passOn(message: Fields, calls: ReadonlySet<RemoteCall>, { name, redact }: ConnectOptions): void {
  const listening = [...calls].filter(({ onLog }) => onLog !== undefined);
  const [first] = listening;
  if (first === undefined || listening.some(({ person }) => person !== first.person)) return;
  const { level, data = null, logger } = message as { level: unknown; data?: Json; logger?: unknown };
  if (typeof level !== 'string') return;
  const from = typeof logger === 'string' ? `${name}.${redact(logger)}` : name;
  first.onLog?.({ level, data: redact(data), logger: from });
}

// Asks for the log messages that clients want: per request in the newer protocol version, per connection in the older.
function createLogLevels(client: Client, capabilities: JsonObject) {
  const hasLog = capabilities.logging !== undefined;
  let current: string | undefined;
  return {
    /** Returns the level of a request; undefined if the server has no log or the caller wants none. */
    levelOf: ({ onLog, logLevel = DEFAULT_LOG_LEVEL }: RemoteCall): string | undefined =>
      hasLog && client.isModern && onLog !== undefined ? logLevel : undefined,
    /** Sets the level of the connection, if a client said which one it wants. Never throws. */
    async prepare({ onLog, logLevel }: RemoteCall): Promise<void> {
      if (!hasLog || client.isModern || onLog === undefined || logLevel === undefined) return;
      const level = logLevel === 'debug' ? logLevel : DEFAULT_LOG_LEVEL;
      if (current === level || current === 'debug') return;
      current = level;
      const signal = AbortSignal.timeout(LOG_LEVEL_TIMEOUT_MS);
      // A server that refuses sends what it likes.
      await client.request('logging/setLevel', { level }, { signal }).catch(() => {});
    },
  };
}

const LIST_TIMEOUT_MS = 10_000;
// Minimum interval between two lists, for servers that announce changes all the time.
const MIN_INTERVAL_MS = 500;

// Lists the tools, then again on every change. Throws if the first list fails.
async function watchTools(
  client: Client,
  capabilities: JsonObject,
  { name, knownVersion, signal, debug, redact }: ConnectOptions,
): Promise<Pick<Connection, 'listing' | 'onListing'>> {
  const list = async (until: AbortSignal): Promise<ToolListing> => {
    const found = await fetchListing(async (method, params) => {
      const result = await client.request(method, params, { signal: until });
      if (client.isModern && knownVersion !== undefined) assertModernResult(result);
      return result;
    }, capabilities);
    return redact(found);
  };
  let listing = await list(signal);

  const listeners = new Set<(listing: ToolListing) => void>();
  // One list at a time, and one more for changes that were announced meanwhile.
  let isListing = false;
  let isStale = false;
  const refresh = async (): Promise<void> => {
    isStale = true;
    if (isListing) return;
    isListing = true;
    while (isStale && client.isOpen) {
      isStale = false;
      try {
        listing = await list(AbortSignal.timeout(LIST_TIMEOUT_MS));
        for (const listener of listeners) listener(listing);
      } catch (error) {
        debug(`${name}: could not list its changed tools: ${quoteOutside((error as Error).message, 200)}`);
      }
      await timers.setTimeout(MIN_INTERVAL_MS, undefined, { ref: false });
    }
    isListing = false;
  };
  for (const kind of ['tools', 'resources', 'prompts'])
    client.listeners.set(`notifications/${kind}/list_changed`, () => void refresh());
  const changes = {
    toolsListChanged: announces(capabilities.tools),
    resourcesListChanged: announces(capabilities.resources),
    promptsListChanged: announces(capabilities.prompts),
  };
  if (client.isModern && Object.values(changes).some((one) => one === true)) {
    client.subscribe(changes).catch((error: Error) => {
      debug(`${name}: could not subscribe to changes: ${quoteOutside(error.message, 200)}`);
    });
  }
  return {
    listing: () => listing,
    onListing: (listener) => {
      listeners.add(listener);
    },
  };
}

function announces(capability: unknown): true | undefined {
  return isRecord(capability) && capability.listChanged === true ? true : undefined;
}

// Some older servers answer without an `initialize`, but would never receive answers to their requests.
function assertModernResult(result: unknown): void {
  if (!isRecord(result) || typeof result.resultType !== 'string')
    throw new Error('the server uses an older protocol version than before');
}
