// The broker: owns the connections to shared servers, and runs the calls of sessions on them.

import { ToolError } from '../../core/error.js';
import { NO_SANDBOXES } from '../../core/sandbox.js';
import type { World } from '../../core/snapshot.js';
import type { StdioServer } from '../../core/upstream.js';
import type { RemoteCall } from '../connection/call.js';
import type { Connection } from '../connection/connection.js';
import type { StartSettings } from '../connection/open.js';
import { type Lease, Pool } from '../connection/pool.js';
import { ProcessTransport } from '../connection/process-transport.js';
import { isWithin } from '../connection/subscriptions.js';
import { digestDefinition, type RemoteTool } from '../remote-tool.js';
import { memoryOf } from './memory.js';
import { type Params, type Peer, ServerLostError } from './peer.js';
import { identify, type SharedPlan } from './plan.js';
import type { CallMessage, OpenedChannel, OpenMessage, SharedState } from './wire.js';

/** A server with one process, or one per session that it may ask something at the same time. */
interface SharedServer extends StdioServer {
  readonly key: string;
  readonly identity: string;
  readonly plan: SharedPlan;
  readonly channels: Set<Channel>;
  readonly processes: Map<ProcessTransport, number>;
  /** The server refused the older protocol version. */
  hasNoOlder: boolean;
  /** Sessions that wait for a connection. */
  waiting: number;
}

interface Channel {
  readonly id: number;
  readonly peer: Peer;
  readonly server: SharedServer;
  readonly lease: Lease;
  /** Resources that the session follows. */
  readonly uris: Set<string>;
  unlisten?: () => void;
  wasCalled: boolean;
  end(): void;
}

export interface BrokerSettings {
  /** The version of wield. */
  readonly version: string;
  readonly world: World;
  /** Called when it may have become idle. */
  readonly onLeft: () => void;
}

/** What one connection of a session may do. Nothing of another session can be named. */
export interface BrokerSession {
  request(method: string, params: Params, signal: AbortSignal): Promise<unknown>;
  event(method: string, params: Params): void;
  /** Ends its calls and subscriptions; servers stay. */
  end(): void;
}

export interface Broker {
  createSession(peer: () => Peer): BrokerSession;
  /** Whether it has neither sessions nor servers. */
  isIdle(): boolean;
  close(): Promise<void>;
}

export function createBroker({ version, world, onLeft }: BrokerSettings): Broker {
  const servers = new Map<string, SharedServer>();
  const watched = new WeakSet<Connection>();
  let lastSession = 0;
  const pool = new Pool({
    world,
    version,
    // The session does, which knows the secrets.
    redact: (value) => value,
    keyOf: (server) => toShared(server).key,
    open: async (server) => {
      const { plan, processes } = toShared(server);
      const transport = new ProcessTransport(plan.request, world, plan.first);
      processes.set(transport, world.now());
      return transport;
    },
    knownVersionOf: (server) => toShared(server).plan.knownVersion,
    mayHaveBoth: (server) => toShared(server).plan.older && !toShared(server).hasNoOlder,
    isStored: () => true,
    onListing: async (server, listing, { connection }) => {
      for (const { id, peer, lease } of toShared(server).channels)
        if (lease.connection === connection) peer.notify('listing', { channel: id, listing });
    },
    onFailure: () => {},
  });

  const forget = (server: SharedServer): void => {
    for (const transport of server.processes.keys())
      if (transport.exit !== undefined) server.processes.delete(transport);
    if (server.channels.size + server.waiting + server.processes.size === 0) servers.delete(server.key);
    onLeft();
  };
  const find = (plan: SharedPlan): SharedServer => {
    const identity = identify(plan);
    const key = `${identity} ${plan.older}`;
    const known = servers.get(key);
    if (known !== undefined) return known;
    const own = { key, identity, plan, channels: new Set<Channel>(), processes: new Map(), waiting: 0 };
    const server: SharedServer = { ...plan.entry, ...own, hasNoOlder: false };
    servers.set(key, server);
    return server;
  };
  // Once per connection, which outlives most sessions.
  const watch = (server: SharedServer, { connection, transport }: Lease): void => {
    if (watched.has(connection)) return;
    watched.add(connection);
    connection.closed.then(() => {
      for (const channel of server.channels) {
        if (channel.lease.connection !== connection) continue;
        channel.end();
        channel.peer.notify('closed', { channel: channel.id, exit: transport.exit });
      }
      forget(server);
    });
  };
  const acquire = async (server: SharedServer, person: string | undefined, signal: AbortSignal): Promise<Lease> => {
    server.waiting++;
    try {
      const { older } = server.plan;
      const use = { protocol: older ? ('2025-11-25' as const) : undefined, person };
      const lease = await pool.acquire(server, toSettings(server.plan), use, { signal, ignoresBackoff: true });
      server.hasNoOlder ||= older && !lease.isSecondary;
      watch(server, lease);
      return lease;
    } finally {
      server.waiting--;
      // A start that nobody waits for any more.
      if (signal.aborted && server.channels.size + server.waiting === 0) pool.end(server);
      forget(server);
    }
  };

  return {
    isIdle: () => servers.size === 0,
    close: () => pool.close(),
    createSession(getPeer) {
      const session = ++lastSession;
      const channels = new Map<number, Channel>();
      const end = (channel: Channel): void => {
        const { id, server, lease, uris } = channel;
        if (!channels.delete(id)) return;
        server.channels.delete(channel);
        channel.unlisten?.();
        for (const uri of uris) lease.connection.resources.unsubscribe(uri);
        lease.release(channel.wasCalled ? 'unknown' : 'listed');
        forget(server);
      };
      const channelOf = ({ channel }: Params): Channel => {
        const found = channels.get(channel as number);
        if (found === undefined) throw new ServerLostError('the connection was closed', undefined);
        return found;
      };
      const open = async ({ channel: id, plan }: OpenMessage, signal: AbortSignal): Promise<OpenedChannel> => {
        if (channels.has(id)) throw new Error('the channel is open');
        const peer = getPeer();
        const server = find(plan);
        const lease = await acquire(server, undefined, signal);
        const { connection, transport } = lease;
        const own = { id, peer, server, lease, uris: new Set<string>(), wasCalled: false };
        const channel: Channel = { ...own, end: () => end(channel) };
        channels.set(id, channel);
        server.channels.add(channel);
        // The session may have gone while the server was started.
        if (signal.aborted) end(channel);
        const { version: negotiated, protocol, instructions, capabilities } = connection;
        const listing = connection.listing();
        const lastLines = transport.lastLines ?? [];
        return { version: negotiated, protocol, instructions, capabilities, listing, lastLines };
      };
      const call = async (message: CallMessage, signal: AbortSignal): Promise<unknown> => {
        const channel = channelOf(message as unknown as Params);
        channel.wasCalled = true;
        const remote = toRemoteCall(message, `${session} ${message.person}`, getPeer(), signal);
        // UPS-119: a server of the older version does not say whose call asks or logs, so it serves one at a time.
        const isOwn =
          remote.elicit !== undefined ||
          remote.client !== undefined ||
          (remote.onLog !== undefined && channel.lease.connection.capabilities.logging !== undefined);
        const lease = await acquire(channel.server, isOwn ? remote.person : undefined, signal);
        let outcome: 'answered' | 'unknown' = 'unknown';
        try {
          const { connection } = lease;
          const { request, tool, input = null } = message;
          const output =
            request === undefined
              ? await connection.call(findTool(connection, tool!, message.name), input, remote)
              : await connection.request(request, remote);
          outcome = 'answered';
          return output;
        } catch (error) {
          const { exit } = lease.transport;
          throw exit === undefined || error instanceof ToolError ? error : new ServerLostError(exit.reason, exit);
        } finally {
          lease.release(outcome);
        }
      };
      const follow = async (params: Params, signal: AbortSignal): Promise<void> => {
        const channel = channelOf(params);
        const { id, lease, uris, peer } = channel;
        const uri = String(params.uri);
        channel.wasCalled = true;
        uris.add(uri);
        channel.unlisten ??= lease.connection.resources.listen({
          follows: (one) => uris.has(one),
          onUpdate: (updated) => {
            if ([...uris].some((one) => isWithin(updated, one))) peer.notify('updated', { channel: id, uri: updated });
          },
          onDoubt: () => peer.notify('doubt', { channel: id }),
        });
        try {
          await lease.connection.resources.subscribe(uri, signal);
        } catch (error) {
          uris.delete(uri);
          throw error;
        }
      };
      return {
        end: () => {
          for (const channel of channels.values()) end(channel);
        },
        async request(method, params, signal) {
          switch (method) {
            case 'open':
              return open(params as unknown as OpenMessage, signal);
            case 'call':
              return call(params as unknown as CallMessage, signal);
            case 'subscribe':
              return follow(params, signal);
            case 'alive':
              return channelOf(params).lease.connection.isAlive();
            case 'status':
              return [...servers.values()].flatMap(toStates);
            case 'end': {
              const identity = identify(params.plan as SharedPlan);
              for (const server of servers.values()) {
                const isUsed = server.channels.size + server.waiting > 0;
                if (server.identity === identity && (params.when === 'always' || !isUsed)) pool.end(server);
              }
              return null;
            }
            default:
              throw new Error(`unknown method ${method}`);
          }
        },
        event(method, params) {
          const channel = channels.get(params.channel as number);
          if (channel === undefined) return;
          if (method === 'close') end(channel);
          const { uri } = params;
          if (method === 'unsubscribe' && typeof uri === 'string' && channel.uris.delete(uri))
            channel.lease.connection.resources.unsubscribe(uri);
        },
      };
    },
  };
}

function toShared(server: object): SharedServer {
  return server as SharedServer;
}

// What the session resolved already does not matter here.
function toSettings({ announces }: SharedPlan): StartSettings {
  return { announces, env: { pass: [], from: {} }, sandbox: NO_SANDBOXES, allowedServers: [], broker: false };
}

// RUN-2: the process that runs the call may have changed its tools since the session saw them.
function findTool(connection: Connection, { name, definition }: NonNullable<CallMessage['tool']>, shown: string) {
  const isSame = (one: RemoteTool): boolean =>
    one.name === name && one.offers === undefined && digestDefinition(one) === definition;
  const found = connection.listing().tools.find(isSame);
  if (found !== undefined) return found;
  throw new ToolError('integrity', `${shown} was not run: its server changed its definition`, {
    hint: 'call it again to check the changed tool',
  });
}

function toRemoteCall(message: CallMessage, person: string, peer: Peer, signal: AbortSignal): RemoteCall {
  const { call, name, logLevel, trace, wants } = message;
  const ask = <T>(method: string, params: Params, until: AbortSignal): Promise<T> =>
    peer.request(method, { call, ...params }, AbortSignal.any([signal, until])) as Promise<T>;
  return {
    name,
    person,
    signal,
    logLevel,
    trace,
    onProgress: wants.progress ? (progress) => peer.notify('progress', { call, progress }) : undefined,
    onLog: wants.log ? (entry) => peer.notify('log', { call, entry }) : undefined,
    elicit: wants.elicit ? (question, until) => ask('elicit', { question }, until) : undefined,
    client: wants.client && {
      capabilities: wants.client,
      request: (request, until) => ask('client', { request }, until),
    },
  };
}

function toStates({ name, plan, channels, processes }: SharedServer): SharedState[] {
  const sessions = new Set([...channels].map(({ peer }) => peer)).size;
  return [...processes].flatMap(([{ pid, exit }, startedAt]) =>
    pid === undefined || exit !== undefined
      ? []
      : [{ name, pid, directory: plan.request.cwd, sessions, memoryBytes: memoryOf(pid), startedAt }],
  );
}
