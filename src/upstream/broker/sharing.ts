// Opens connections to servers that sessions share, if this machine has a broker.

import type { ServerEntry, StdioServer } from '../../core/upstream.js';
import { ownUmask } from '../../process/start.js';
import type { StartSettings } from '../connection/open.js';
import type { Sharing } from '../connection/pool.js';
import { type BrokerOptions, findAddress, findObstacle } from './address.js';
import { openChannel } from './channel.js';
import { connectBroker, type Link, tryConnect } from './link.js';
import { PeerClosedError } from './peer.js';
import { isShared, type SharedPlan } from './plan.js';

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
      const own = { signal, redact: <T>(value: T): T => redact(value, server.name) };
      // A broker may end just before it is asked.
      for (let attempt = 1; attempt <= 2; attempt++) {
        const link = await connect();
        if (link === undefined) break;
        try {
          return await openChannel(link, planned, own);
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
