// Requests tool lists of servers: each server once for all callers, with a limit on the wait.

import type { Snapshot, World } from '../../core/snapshot.js';
import { settlesWithin } from '../../core/time-limit.js';
import type { ServerEntry } from '../../core/upstream.js';

export interface ListingRequestsOptions {
  readonly configurationOf: (server: ServerEntry) => string;
  /** Starts a server to list its tools. */
  readonly refresh: (server: ServerEntry, snapshot: Snapshot) => Promise<unknown>;
  /** Called with the servers that a caller waits for whenever that changes; empty at the end. */
  readonly onWait?: (servers: readonly string[]) => void;
  readonly world: World;
}

interface PendingListing {
  readonly since: number;
  readonly done: Promise<unknown>;
}

/** Waits for servers, each up to `patienceMs` after its request; undefined if there is nothing to wait for. */
export type RequestListings = (
  servers: readonly ServerEntry[],
  snapshot: Snapshot,
  patienceMs: number,
) => Promise<unknown> | undefined;

export function createListingRequests(options: ListingRequestsOptions): RequestListings {
  const { configurationOf, refresh, onWait, world } = options;
  const pending = new Map<string, PendingListing>();

  const request = (server: ServerEntry, snapshot: Snapshot): PendingListing => {
    const configuration = configurationOf(server);
    let listing = pending.get(configuration);
    if (listing === undefined) {
      const done = refresh(server, snapshot)
        .catch((error: unknown) => world.debug(`${server.name}: ${String(error)}`))
        .finally(() => pending.delete(configuration));
      listing = { since: world.monotonic(), done };
      pending.set(configuration, listing);
    }
    return listing;
  };

  return (servers, snapshot, patienceMs) => {
    const waits = servers
      .map((server) => ({ name: server.name, ...request(server, snapshot) }))
      .map(({ name, since, done }) => ({ name, done, left: since + patienceMs - world.monotonic() }))
      .filter(({ left }) => left > 0);
    if (waits.length === 0) return undefined;
    const all = Promise.all(waits.map(({ done }) => done));
    const wait = settlesWithin(all, Math.max(...waits.map(({ left }) => left)));
    return onWait === undefined ? wait : reportWait(waits, wait, onWait);
  };
}

async function reportWait(
  waits: readonly { readonly name: string; readonly done: Promise<unknown> }[],
  wait: Promise<unknown>,
  onWait: (servers: readonly string[]) => void,
): Promise<void> {
  const names = new Set(waits.map(({ name }) => name));
  onWait([...names]);
  const onDone = (name: string) => () => names.delete(name) && onWait([...names]);
  // Who waits is told why one failed.
  for (const { name, done } of waits) done.then(onDone(name)).catch(() => {});
  await wait;
  if (names.size === 0) return;
  names.clear();
  onWait([]);
}
