// A connection to one upstream server.

import type { ClientCapability } from '../../core/context.js';
import type { Json } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import { quoteOutside } from '../../core/text.js';
import type { ProtocolVersion } from '../../core/upstream.js';
import { RpcError, TASKS } from '../../net/mcp.js';
import type { RemoteTool } from '../remote-tool.js';
import type { Client } from '../sdk.js';
import { callTool, type OfferRequest, type RemoteCall, requestOffer } from './call.js';
import { serveClientRequests, type Turns } from './client-requests.js';
import { limitRequests } from './elicitation.js';
import { Lane } from './lane.js';
import { createLogLevels } from './log-level.js';
import { type ResourceWatch, watchResources } from './resource-watch.js';
import { type ToolWatch, watchTools } from './tool-watch.js';
import type { UpstreamTransport } from './transport.js';
import { type NegotiatedVersion, negotiatedVersionOf } from './version.js';

export interface ConnectOptions {
  readonly name: string;
  readonly version: string;
  /** The only protocol version to use. */
  readonly protocol: ProtocolVersion | undefined;
  readonly startTimeoutMs: number;
  /** The protocol version of an earlier connection. */
  readonly knownVersion: NegotiatedVersion | undefined;
  /** What the server may request of clients (RSC-7). */
  readonly announces: readonly ClientCapability[];
  readonly signal: AbortSignal;
  readonly debug: (message: string) => void;
  /** Removes secrets from what the server sends. */
  readonly redact: <T>(value: T) => T;
}

export interface Connection extends ToolWatch {
  readonly version: NegotiatedVersion;
  /** The negotiated protocol version, by its date. */
  readonly protocol: string | undefined;
  readonly instructions: string | undefined;
  /** Calls a tool by its own name. A tool that failed is an Output with an error. */
  call(tool: RemoteTool, input: Json, call: RemoteCall): Promise<Output>;
  /** Reads a resource, makes the messages of a prompt, or completes an argument. */
  request(request: OfferRequest, call: RemoteCall): Promise<Output>;
  readonly resources: ResourceWatch;
  /** Whether the server still knows this connection. */
  isAlive(): Promise<boolean>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

// Some older servers do not answer unknown requests: after this time, or a third of the start timeout, `initialize` is sent too.
const PROBE_TIMEOUT_MS = 10_000;
// How long to wait for the answer to `initialize` after a late answer to the probe.
const LATE_GRACE_MS = 1000;
const PING_TIMEOUT_MS = 5000;
const ELICITATION = { elicitation: { form: {}, url: {} } } as const;
// Of the newer version, where a server may answer any call with a task.
const CAPABILITIES = { ...ELICITATION, extensions: { [TASKS]: {} } } as const;

/** Opens a connection and lists the tools. */
export async function connect(transport: UpstreamTransport, options: ConnectOptions): Promise<Connection> {
  const { redact } = options;
  const sdk = await import('../sdk.js');
  const clientInfo = { name: 'wield', version: options.version };
  const calls = new Set<RemoteCall>();
  // Set when a question could have come from calls of different persons: from then on calls run one at a time.
  const turns: Turns = { one: undefined };
  const isHttp = transport.write === undefined;
  const opened = await openClient(transport, options, () =>
    createClient(sdk, clientInfo, { ...options, isHttp }, calls, turns),
  );
  const { client, lane, closed, isOpen } = opened;
  const version = negotiatedVersionOf(client);
  const isModern = version.kind === 'modern';
  if (isModern) {
    lane.envelope = {
      [sdk.PROTOCOL_VERSION_META_KEY]: client.getNegotiatedProtocolVersion(),
      [sdk.CLIENT_INFO_META_KEY]: clientInfo,
      [sdk.CLIENT_CAPABILITIES_META_KEY]: CAPABILITIES,
    };
  }
  const { capabilities, listing, onListing } = await watchTools(client, lane, {
    ...options,
    negotiated: version,
    isOpen,
  });
  const resources = watchResources(client, lane, { ...options, isModern, capabilities, isOpen });
  const session = { sdk, client, lane, isModern, isHttp };
  const levels = createLogLevels(lane, capabilities, isModern);
  // The newer version says with every request what the client behind it supports, and which log messages it wants.
  const withEnvelope = (call: RemoteCall): RemoteCall => {
    const supported = options.announces.filter((capability) => call.client?.capabilities[capability] !== undefined);
    const level = levels.levelOf(call);
    if (!isModern || (supported.length === 0 && level === undefined)) return call;
    const own = Object.fromEntries(supported.map((capability) => [capability, call.client!.capabilities[capability]]));
    const envelope = { ...lane.envelope, [sdk.CLIENT_CAPABILITIES_META_KEY]: { ...CAPABILITIES, ...own } };
    return { ...call, envelope: level === undefined ? envelope : { ...envelope, [sdk.LOG_LEVEL_META_KEY]: level } };
  };
  const inTurn = async (given: RemoteCall, run: (call: RemoteCall) => Promise<Output>): Promise<Output> => {
    const { elicit, client } = given;
    const asks = elicit !== undefined || client !== undefined;
    const call = withEnvelope(asks ? limitRequests(redactRequests(given, redact)) : given);
    const prepared = levels.prepare(call);
    if (prepared !== undefined) await prepared;
    const release = await turns.one?.acquire(call.signal);
    calls.add(call);
    try {
      return await run(call);
    } finally {
      calls.delete(call);
      release?.();
    }
  };
  return {
    version: redact(version),
    protocol: client.getNegotiatedProtocolVersion(),
    instructions: redact(client.getInstructions()),
    capabilities: redact(capabilities),
    listing,
    onListing,
    call: (tool, input, given) => inTurn(given, (call) => callTool(session, tool, input, call)),
    resources,
    isAlive: async () =>
      isModern || (await lane.request('ping', {}, { signal: AbortSignal.timeout(PING_TIMEOUT_MS) }).then(yes, no)),
    request: (request, given) => inTurn(given, (call) => requestOffer(session, request, call)),
    closed,
    close: async () => {
      await client.close();
      await closed;
    },
  };
}

/** Negotiates the version. A late answer to the probe is used if the server then rejects `initialize` (UPS-11). */
async function openClient(
  transport: UpstreamTransport,
  { signal, startTimeoutMs: timeout, knownVersion }: ConnectOptions,
  create: () => Client,
) {
  const openWith = async (prior: NegotiatedVersion | undefined, lane: Lane, within: AbortSignal) => {
    const client = create();
    let isOpen = true;
    const closed = new Promise<void>((resolve) => {
      client.onclose = () => {
        isOpen = false;
        resolve();
      };
    });
    await client.connect(lane.transport, { signal: within, timeout, prior: prior as never });
    lane.keepsOpen = false;
    lane.onLateDiscover = undefined;
    return { client, lane, closed, isOpen: () => isOpen };
  };
  const lane = new Lane(transport);
  const handshake = new AbortController();
  let late: Json | undefined;
  const answered = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    lane.onLateDiscover = (discover) => {
      late = discover;
      resolve();
      if (discover !== undefined) setTimeout(() => handshake.abort(), LATE_GRACE_MS).unref();
    };
  });
  try {
    return await openWith(knownVersion, lane, AbortSignal.any([signal, handshake.signal]));
  } catch (error) {
    // A server that is bound to the newer version may reject `initialize` long before it answers the probe.
    if (lane.isProbeOpen && !signal.aborted && transport.exit === undefined) await answered;
    if (late === undefined || signal.aborted || transport.exit !== undefined) throw error;
    return openWith({ kind: 'modern', discover: late }, new Lane(transport, true), signal);
  }
}

const yes = (): boolean => true;
// A server that does not know the request is there.
const no = (error: unknown): boolean => error instanceof RpcError;

function redactRequests(call: RemoteCall, redact: ConnectOptions['redact']): RemoteCall {
  const { elicit, client } = call;
  return {
    ...call,
    elicit: elicit && ((question, signal) => elicit(redact(question), signal)),
    client: client && {
      capabilities: client.capabilities,
      request: (request, signal) => client.request(redact(request), signal),
    },
  };
}

function createClient(
  sdk: typeof import('../sdk.js'),
  clientInfo: { readonly name: string; readonly version: string },
  { name, debug, protocol, startTimeoutMs, isHttp, redact, announces }: ConnectOptions & { readonly isHttp: boolean },
  calls: ReadonlySet<RemoteCall>,
  turns: Turns,
): Client {
  const waits = isHttp || protocol !== undefined;
  const client = new sdk.Client(clientInfo, {
    capabilities: { ...ELICITATION, ...Object.fromEntries(announces.map((capability) => [capability, {}])) },
    versionNegotiation: {
      mode: protocol === undefined ? 'auto' : { pin: protocol },
      probe: { timeoutMs: waits ? startTimeoutMs : Math.min(PROBE_TIMEOUT_MS, startTimeoutMs / 3) },
    },
    // Results are validated by the runtime (TOOL-22); creating the SDK's validator takes 60 ms.
    jsonSchemaValidator: {
      getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
    },
  });
  client.onerror = (error) => debug(`${name}: ${quoteOutside(error.message, 300)}`);
  client.setNotificationHandler('notifications/message', ({ params }) => {
    // A message does not name its call; with calls of several persons nobody gets it.
    const listening = [...calls].filter(({ onLog }) => onLog !== undefined);
    const [first] = listening;
    if (first === undefined || listening.some(({ person }) => person !== first.person)) return;
    const { level, data, logger } = params as { level: string; data: Json; logger?: string };
    const from = logger === undefined ? name : `${name}.${redact(logger)}`;
    first.onLog?.({ level, data: redact(data ?? null), logger: from });
  });
  serveClientRequests(sdk, client, { name, announces, calls, turns });
  return client;
}
