// A connection to one upstream server.

import type { Client } from '@modelcontextprotocol/client';
import type { Elicit } from '../../core/elicit.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import { RpcError } from '../../core/rpc-error.js';
import { createSemaphore, type Semaphore } from '../../core/semaphore.js';
import { quoteOutside } from '../../core/text.js';
import type { ProtocolVersion, RemoteTool } from '../../core/upstream.js';
import { callTool, type OfferRequest, type RemoteCall, requestOffer } from './call.js';
import { limitQuestions, toElicitation } from './elicitation.js';
import { Lane } from './lane.js';
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
  readonly signal: AbortSignal;
  readonly debug: (message: string) => void;
  /** Removes secrets from what the server sends. */
  readonly redact: <T>(value: T) => T;
}

export interface Connection extends ToolWatch {
  readonly version: NegotiatedVersion;
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
const CAPABILITIES = { elicitation: { form: {}, url: {} } } as const;

/** Opens a connection and lists the tools. */
export async function connect(transport: UpstreamTransport, options: ConnectOptions): Promise<Connection> {
  const { redact } = options;
  const sdk = await import('@modelcontextprotocol/client');
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
  const inTurn = async (given: RemoteCall, run: (call: RemoteCall) => Promise<Output>): Promise<Output> => {
    const { elicit } = given;
    const redacted: Elicit | undefined = elicit && ((question, signal) => elicit(redact(question), signal));
    const call = redacted === undefined ? given : { ...given, elicit: limitQuestions(redacted) };
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
    return { client, lane, closed, isOpen: () => isOpen };
  };
  const lane = new Lane(transport);
  const handshake = new AbortController();
  let late: Json | undefined;
  lane.onLateDiscover = (discover) => {
    late = discover;
    lane.keepsOpen = true;
    setTimeout(() => handshake.abort(), LATE_GRACE_MS).unref();
  };
  try {
    return await openWith(knownVersion, lane, AbortSignal.any([signal, handshake.signal]));
  } catch (error) {
    if (late === undefined || signal.aborted || transport.exit !== undefined) throw error;
    return openWith({ kind: 'modern', discover: late }, new Lane(transport, true), signal);
  }
}

const yes = (): boolean => true;
// A server that does not know the request is there.
const no = (error: unknown): boolean => error instanceof RpcError;

interface Turns {
  one: Semaphore | undefined;
}

// The older protocol version does not say which call asks. Of several calls that can have asked, any may pass the question
// on if the same person is behind all of them, who is then told the server instead of the tool (UPS-10).
function findAsking(
  calls: ReadonlySet<RemoteCall>,
): { readonly elicit: Elicit; readonly isCertain: boolean } | undefined {
  const able = [...calls].filter(({ elicit }) => elicit !== undefined);
  const [first] = able;
  if (first?.elicit === undefined || able.some(({ person }) => person !== first.person)) return undefined;
  return { elicit: first.elicit, isCertain: able.length === 1 };
}

function createClient(
  sdk: typeof import('@modelcontextprotocol/client'),
  clientInfo: { readonly name: string; readonly version: string },
  { name, debug, protocol, startTimeoutMs, isHttp, redact }: ConnectOptions & { readonly isHttp: boolean },
  calls: ReadonlySet<RemoteCall>,
  turns: Turns,
): Client {
  const waits = isHttp || protocol !== undefined;
  const client = new sdk.Client(clientInfo, {
    capabilities: CAPABILITIES,
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
    first.onLog?.({ level, data: redact(data ?? null), logger: logger === undefined ? name : `${name}.${logger}` });
  });
  client.setRequestHandler('elicitation/create', async ({ params }, context) => {
    const question = toElicitation(params as JsonObject);
    const asked = findAsking(calls);
    if (asked === undefined) {
      if (calls.size > 1) turns.one ??= createSemaphore(1);
      return { action: 'cancel' };
    }
    const message = asked.isCertain ? question.message : `${name}, during one of its calls: ${question.message}`;
    const { action, content } = await asked.elicit({ ...question, message }, context.mcpReq.signal);
    return { action, content: content as never };
  });
  return client;
}
