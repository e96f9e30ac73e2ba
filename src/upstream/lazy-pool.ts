// The connection pool of a toolbox, loaded when the first server is needed.

import { join } from 'node:path';
import type { Json } from '../core/json.js';
import { redactError, redactValue } from '../core/redact.js';
import type { ServerEntry } from '../core/upstream.js';
import type { World } from '../core/world.js';
import { readVersion } from '../workspace/machine.js';
import type { ServerListings } from './catalog/server-listings.js';
import type { Pool } from './connection/pool.js';
import type { NegotiatedVersion } from './connection/version.js';
import type { KnownSecrets } from './entries/known-secrets.js';

export interface LazyPoolOptions {
  readonly wieldHome: string;
  readonly workdir: string;
  readonly configurationOf: (server: ServerEntry) => string;
  readonly secrets: KnownSecrets;
  readonly listings: () => ServerListings;
  readonly onChange: () => void;
  readonly beforeRun?: () => void;
  readonly world: World;
}

export function createLazyPool(options: LazyPoolOptions): Pool {
  let loaded: Promise<Pool> | undefined;
  const load = (): Promise<Pool> => {
    loaded ??= loadPool(options);
    return loaded;
  };
  return {
    acquire: async (server, settings, signal) => (await load()).acquire(server, settings, signal),
    refresh: async (server, settings) => (await load()).refresh(server, settings),
    close: async () => (await loaded)?.close(),
  };
}

async function loadPool(options: LazyPoolOptions): Promise<Pool> {
  const { wieldHome, workdir, configurationOf, secrets, listings, onChange, beforeRun, world } = options;
  const [{ createPool }, { openTransport }, { expandServer }, { parseListing }] = await Promise.all([
    import('./connection/pool.js'),
    import('./connection/open-transport.js'),
    import('./entries/expand.js'),
    import('./catalog/parse-listing.js'),
  ]);
  return createPool({
    world,
    version: readVersion(),
    redact: (value) => redactValue(value, secrets.all()),
    keyOf: configurationOf,
    open: async (entry, { env }) => {
      // Trust was checked before: by the policy, or by the listing.
      const { server, secrets: found } = expandServer(entry, { ...world, workdir, trusted: true });
      secrets.add(found);
      return openTransport(server, { world, pass: env.pass, logins: join(wieldHome, 'oauth'), beforeRun });
    },
    knownVersionOf: (server) => listings().knownVersionOf(server) as NegotiatedVersion | undefined,
    onListing: (server, listing, { version, instructions }) => {
      const { tools, faults } = parseListing(listing, server);
      listings().store(server, { tools, faults, version: version as unknown as Json, instructions });
      onChange();
    },
    onFailure: (server, error) => listings().storeFailure(server, redactError(error, secrets.all())),
  });
}
