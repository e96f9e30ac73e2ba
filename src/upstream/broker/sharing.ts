// Opens connections to servers that sessions share, if this machine has a broker.

import { deferred } from '../../core/async.js';
import { reviveError, ToolError } from '../../core/error.js';
import type { Output } from '../../core/result.js';
import type { ServerEntry, StdioServer } from '../../core/upstream.js';
import { ownUmask } from '../../process/start.js';
import type { RemoteCall } from '../connection/call.js';
import type { Connection } from '../connection/connection.js';
import type { ToolListing } from '../connection/fetch-listing.js';
import type { StartSettings } from '../connection/open.js';
import type { Sharing } from '../connection/pool.js';
import { guardRequests } from '../connection/requests.js';
import type { UpdateListener } from '../connection/resource-watch.js';
import type { ServerExit } from '../connection/transport.js';
import { digestDefinition, type RemoteTool } from '../remote-tool.js';
import { type BrokerOptions, findAddress, findObstacle } from './address.js';
import { connectBroker, type Link, tryConnect } from './link.js';
import { PeerClosedError, ServerLostError } from './peer.js';
import { type CallMessage, isShared, type OpenedChannel, type SharedPlan, type WireOutput } from './plan.js';

export interface SharingOptions extends BrokerOptions {
  /** Resolves what a server is started with. */
  readonly plan: (server: StdioServer, settings: StartSettings) => Promise<Omit<SharedPlan, 'older'>>;
  readonly redact: <T>(value: T, server: string) => T;
}

// After a failure, servers are started in this process for so long.
const RETRY_MS = 60_000;

export function createSharing(options: SharingOptions): Sharing {
  const { world, redact } = options;
  // What a process would inherit from this one, and not from the broker.
  const plan = async (server: StdioServer, settings: StartSettings, older: boolean): Promise<SharedPlan> => {
    const planned = await options.plan(server, settings);
    return { ...planned, request: { ...planned.request, umask: ownUmask() }, older };
  };
  let linking: Promise<Link> | undefined;
  let failedUntil = 0;
  const connect = async (): Promise<Link | undefined> => {
    if (world.monotonic() < failedUntil) return undefined;
    linking ??= connectBroker(findAddress(options), world).then((link) => {
      link.peer.closed.then(() => {
        linking = undefined;
      });
      return link;
    });
    try {
      return await linking;
    } catch (error) {
      linking = undefined;
      failedUntil = world.monotonic() + RETRY_MS;
      world.debug(`without a broker: ${(error as Error).message}`);
      return undefined;
    }
  };
  const isUsed = (server: ServerEntry, { broker }: StartSettings): server is StdioServer => {
    if (server.kind !== 'stdio' || !isShared(server)) return false;
    // Nothing else prevented it when the broker was connected.
    if (linking !== undefined) return broker !== false;
    const obstacle = findObstacle(broker, options);
    if (obstacle !== undefined) world.debug(`without a broker: ${obstacle}`);
    return obstacle === undefined;
  };
  return {
    async open(server, settings, { signal, older }) {
      if (!isUsed(server, settings) || (await connect()) === undefined) return undefined;
      const planned = await plan(server, settings, older !== undefined);
      // A broker may end just before it is asked.
      for (let attempt = 1; attempt <= 2; attempt++) {
        const link = await connect();
        if (link === undefined) break;
        try {
          return await openChannel(link, planned, signal, (value) => redact(value, server.name));
        } catch (error) {
          if (!(error instanceof PeerClosedError)) throw error;
        }
      }
      return undefined;
    },
    async end(server, settings, when) {
      if (!isUsed(server, settings)) return;
      // One that does not run has nothing to end.
      const link = await tryConnect(findAddress(options)).catch(() => undefined);
      if (link === undefined) return;
      try {
        await link.peer.request('end', { plan: await plan(server, settings, false), when });
      } finally {
        link.peer.close();
      }
    },
    close() {
      linking?.then(
        ({ peer }) => peer.close(),
        () => {},
      );
    },
  };
}

// Opens a connection to a server that the broker runs or starts. Throws PeerClosedError if the broker is gone.
async function openChannel(
  link: Link,
  plan: SharedPlan,
  signal: AbortSignal,
  redact: <T>(value: T) => T,
): Promise<Connection> {
  const { peer, channels, calls } = link;
  const { name } = plan.entry;
  const channel = link.nextId();
  const closed = deferred<void>();
  const listeners = new Set<(listing: ToolListing) => void>();
  const updates = new Set<UpdateListener>();
  let raw: ToolListing = { tools: [], faults: [] };
  let listing = raw;
  let exit: ServerExit | undefined;
  const close = (): void => {
    channels.delete(channel);
    closed.resolve();
  };
  channels.set(channel, {
    onListing(found) {
      raw = found;
      listing = redact(found);
      for (const listener of listeners) listener(listing);
    },
    onUpdate(uri) {
      for (const listener of updates) listener.onUpdate(uri);
    },
    onDoubt() {
      for (const listener of updates) listener.onDoubt();
    },
    onClosed(how) {
      exit ??= how;
      close();
    },
  });
  let opened: OpenedChannel;
  try {
    opened = (await peer.request('open', { channel, plan }, signal)) as OpenedChannel;
  } catch (error) {
    close();
    throw error;
  }
  // A change may have come first.
  if (raw.tools.length + raw.faults.length === 0) {
    raw = opened.listing;
    listing = redact(raw);
  }
  const { version, protocol, instructions, capabilities, lastLines } = opened;

  const run = async (given: RemoteCall, what: Partial<CallMessage>): Promise<Output> => {
    const call = link.nextId();
    const guarded = guardRequests(given, redact);
    const { onProgress, onLog, elicit, client, person, logLevel, trace } = guarded;
    const wants = {
      progress: onProgress !== undefined,
      log: onLog !== undefined,
      elicit: elicit !== undefined,
      client: client?.capabilities,
    };
    calls.set(call, { ...guarded, onLog: onLog && ((entry) => onLog(redact(entry))) });
    const message = { channel, call, name: given.name, person, logLevel, trace, wants, ...what };
    try {
      const { error, ...output } = (await peer.request('call', message, given.signal)) as WireOutput;
      return error === undefined ? output : { ...output, error: reviveError(error) };
    } catch (error) {
      if (error instanceof PeerClosedError) throw brokerLost(name, given.name);
      if (error instanceof ServerLostError) exit ??= error.exit;
      throw error;
    } finally {
      calls.delete(call);
    }
  };
  // The broker knows definitions as the server sent them.
  const toSent = (tool: RemoteTool): CallMessage['tool'] => {
    const sent = raw.tools[listing.tools.indexOf(tool)] ?? tool;
    return { name: sent.name, definition: digestDefinition(sent) };
  };
  return {
    transport: {
      get exit() {
        return exit;
      },
      lastLines,
    },
    version: redact(version),
    protocol,
    instructions: redact(instructions),
    capabilities: redact(capabilities),
    listing: () => listing,
    onListing: (listener) => void listeners.add(listener),
    call: (tool, input, call) => run(call, { tool: toSent(tool), input }),
    request: (request, call) => run(call, { request }),
    resources: {
      subscribe: async (uri, until) => void (await peer.request('subscribe', { channel, uri }, until)),
      unsubscribe(uri) {
        if ([...updates].some((listener) => listener.follows(uri))) return;
        peer.notify('unsubscribe', { channel, uri });
      },
      listen(listener) {
        updates.add(listener);
        return () => updates.delete(listener);
      },
    },
    isAlive: () => peer.request('alive', { channel }).then(Boolean, () => false),
    closed: closed.promise,
    async close() {
      peer.notify('close', { channel });
      close();
    },
  };
}

function brokerLost(server: string, tool: string): ToolError {
  return new ToolError(
    'unavailable',
    `lost the broker of the server ${server} while running ${tool}: it may have run`,
    {
      hint: 'check what it did, and call it again: another broker is started',
      data: { server, kind: 'broker-lost' },
    },
  );
}
