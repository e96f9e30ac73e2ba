// What one session may do in the broker: open connections to servers, call and follow. Nothing of another one can be named.

import { ToolError } from '../../core/error.js';
import type { RemoteCall } from '../connection/call.js';
import type { Connection } from '../connection/connection.js';
import { reportStart } from '../connection/open.js';
import { isWithin } from '../connection/subscriptions.js';
import { digestDefinition, type RemoteTool } from '../remote-tool.js';
import { type Params, type Peer, type PeerHandlers, ServerLostError } from './peer.js';
import type { CallMessage, OpenedChannel, OpenMessage, SharedPlan } from './plan.js';
import type { Channel, SharedServers } from './servers.js';

export interface BrokerSession extends PeerHandlers {
  /** Ends its calls and subscriptions; servers stay. */
  end(): void;
}

let lastSession = 0;

export function createBrokerSession(servers: SharedServers, peer: Peer): BrokerSession {
  const session = ++lastSession;
  const channels = new Map<number, Channel>();
  const end = (channel: Channel): void => {
    const { id, server, lease, uris } = channel;
    if (!channels.delete(id)) return;
    server.channels.delete(channel);
    channel.unlisten?.();
    for (const uri of uris) lease.connection.resources.unsubscribe(uri);
    // Calls have leases of their own.
    lease.release('listed');
    servers.forget(server);
  };
  const channelOf = ({ channel }: Params): Channel => {
    const found = channels.get(channel as number);
    if (found === undefined) throw new ServerLostError('the connection was closed', undefined);
    return found;
  };
  const open = async ({ channel: id, plan }: OpenMessage, signal: AbortSignal): Promise<OpenedChannel> => {
    if (channels.has(id)) throw new Error('the channel is open');
    const server = servers.find(plan);
    const lease = await servers.acquire(server, undefined, signal);
    const { connection } = lease;
    const channel: Channel = { id, peer, server, lease, uris: new Set(), end: () => end(channel) };
    channels.set(id, channel);
    server.channels.add(channel);
    // The session may have gone while the server was started.
    if (signal.aborted) end(channel);
    const { version, protocol, instructions, capabilities } = connection;
    const listing = connection.listing();
    const lastLines = connection.transport.lastLines ?? [];
    return { version, protocol, instructions, capabilities, listing, lastLines };
  };
  const call = async (message: CallMessage, signal: AbortSignal): Promise<unknown> => {
    const { server, lease: own } = channelOf(message as unknown as Params);
    const remote = toRemoteCall(message, `${session} ${message.person}`, peer, signal);
    // UPS-119: a server of the older version does not say whose call asks or logs, so it serves one at a time.
    const isOwn =
      remote.elicit !== undefined ||
      remote.client !== undefined ||
      (remote.onLog !== undefined && own.connection.capabilities.logging !== undefined);
    const lease = await reportStart(server, remote.onProgress, () =>
      servers.acquire(server, isOwn ? remote.person : undefined, signal),
    );
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
      const { exit } = lease.connection.transport;
      throw exit === undefined || error instanceof ToolError ? error : new ServerLostError(exit.reason, exit);
    } finally {
      lease.release(outcome);
    }
  };
  const follow = async (params: Params, signal: AbortSignal): Promise<void> => {
    const channel = channelOf(params);
    const { id, lease, uris } = channel;
    const uri = String(params.uri);
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
          return servers.states();
        case 'end':
          return servers.end(params.plan as SharedPlan, params.when);
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
