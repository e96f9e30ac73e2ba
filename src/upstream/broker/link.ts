// The connection of this process to the broker, which it starts if none runs.

import { once } from 'node:events';
import { chmodSync, lstatSync } from 'node:fs';
import { connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { type ClientRequest, lacksCapability } from '../../core/client-request.js';
import type { Elicitation } from '../../core/elicit.js';
import { orNothing, ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { settlesWithin } from '../../core/time-limit.js';
import { withLock } from '../../files/lock.js';
import { createStateDirectory } from '../../files/state.js';
import { onceEnded, start } from '../../process/start.js';
import type { RemoteCall } from '../connection/call.js';
import type { ToolListing } from '../connection/fetch-listing.js';
import type { ServerExit } from '../connection/transport.js';
import type { BrokerAddress } from './address.js';
import { createPeer, type Params, type Peer, PeerClosedError, type PeerHandlers } from './peer.js';
import type { Greeting } from './plan.js';
import { isListener, meetChallenge } from './proof.js';

/** What happens on a channel, besides answers. */
export interface ChannelListener {
  onListing(listing: ToolListing): void;
  onUpdate(uri: string): void;
  onDoubt(): void;
  onClosed(exit: ServerExit | undefined): void;
}

export interface Link {
  readonly peer: Peer;
  readonly channels: Map<number, ChannelListener>;
  /** Running calls, by their number. */
  readonly calls: Map<number, RemoteCall>;
  /** Returns a number for a channel or a call of this link. */
  nextId(): number;
}

// Of the start and of each answer before the first request.
const TIMEOUT_MS = 10_000;
// It mostly passes messages on.
const FLAGS = ['--max-semi-space-size=2'];

/** Connects to the broker, starting it if none runs. Throws if that fails, or another process listens there. */
export async function connectBroker(address: BrokerAddress, world: World): Promise<Link> {
  return (await tryConnect(address)) ?? startBroker(address, world);
}

/** Connects to the broker if it runs. */
export async function tryConnect(address: BrokerAddress): Promise<Link | undefined> {
  const socket = await reach(address.socket);
  return socket && greet(socket, address);
}

async function reach(path: string): Promise<Socket | undefined> {
  const stats = orNothing(() => lstatSync(path));
  if (stats === undefined || !stats.isSocket() || stats.uid !== process.getuid?.()) return undefined;
  const socket = dial(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    // Left behind by a broker that was killed.
    return undefined;
  }
}

// Undefined if it ended meanwhile, so that another one can be started.
async function greet(socket: Socket, { build, socket: path }: BrokerAddress): Promise<Link | undefined> {
  const channels = new Map<number, ChannelListener>();
  const calls = new Map<number, RemoteCall>();
  const peer = createPeer(socket, createHandlers(channels, calls), true);
  let lastId = 0;
  const prove = async (): Promise<void> => {
    const greeting = (await peer.request('hello', { build, pid: process.pid })) as Greeting;
    // Secrets are sent next: it must be the broker, and not a tool that took its place (UPS-121).
    if (greeting.build !== build || !isListener(greeting.pid, path)) throw notOurs(path);
    await meetChallenge(greeting.challenge, () => peer.request('prove', {}));
  };
  try {
    if (!(await settlesWithin(prove(), TIMEOUT_MS))) throw new Error('it does not answer');
  } catch (error) {
    peer.close();
    if (error instanceof PeerClosedError) return undefined;
    throw error;
  }
  peer.closed.then(() => {
    for (const channel of [...channels.values()]) channel.onClosed(undefined);
  });
  return { peer, channels, calls, nextId: () => ++lastId };
}

function notOurs(path: string): ToolError {
  return new ToolError('unavailable', `the process that listens on ${path} is not the broker of this user`, {
    hint: 'run: wield mcp stop',
  });
}

function createHandlers(
  channels: ReadonlyMap<number, ChannelListener>,
  calls: ReadonlyMap<number, RemoteCall>,
): PeerHandlers {
  const callOf = ({ call }: Params): RemoteCall | undefined => calls.get(call as number);
  return {
    async request(method, params, signal) {
      const call = callOf(params);
      if (method === 'elicit')
        return call?.elicit?.(params.question as Elicitation, signal) ?? Promise.resolve({ action: 'cancel' });
      const request = params.request as ClientRequest;
      if (call?.client === undefined) throw lacksCapability('the server', request.capability);
      return call.client.request(request, signal);
    },
    event(method, params) {
      const channel = channels.get(params.channel as number);
      if (method === 'progress') callOf(params)?.onProgress?.(params.progress as never);
      else if (method === 'log') callOf(params)?.onLog?.(params.entry as never);
      else if (method === 'listing') channel?.onListing(params.listing as ToolListing);
      else if (method === 'updated') channel?.onUpdate(String(params.uri));
      else if (method === 'doubt') channel?.onDoubt();
      else if (method === 'closed') channel?.onClosed(params.exit as ServerExit | undefined);
    },
  };
}

// Of several processes, one starts it and the others wait.
async function startBroker(address: BrokerAddress, world: World): Promise<Link> {
  createStateDirectory(address.directory);
  chmodSync(address.directory, 0o700);
  return withLock(join(address.directory, 'starting'), { doing: 'starting the broker' }, async () => {
    const link = await tryConnect(address);
    if (link !== undefined) return link;
    const settings = JSON.stringify({ ...address, home: world.home });
    const argv = [process.execPath, ...FLAGS, address.entry, settings];
    // Not marked, so that it goes on without this process; it marks what it starts.
    const request = { argv, cwd: '/', environment: { PATH: '/usr/bin:/bin' } };
    const child = await start(request, null, world, ['ignore', 'pipe', 'ignore']);
    const ready = new Promise<boolean>((resolve) => {
      child.stdout!.once('data', () => resolve(true));
      onceEnded(child, () => resolve(false));
    });
    const isReady = (await settlesWithin(ready, TIMEOUT_MS)) && (await ready);
    child.unref();
    child.stdout!.destroy();
    const started = isReady ? await tryConnect(address) : undefined;
    if (started !== undefined) return started;
    child.kill();
    throw new Error('the broker could not be started');
  });
}
