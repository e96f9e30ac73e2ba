// Pool of upstream connections: started on first use, shared, closed when idle.

import { ToolError } from '../../core/error.js';
import type { ServerEntry } from '../../core/upstream.js';
import { type Backoff, createBackoff } from './backoff.js';
import type { Connection } from './connection.js';
import { serverLost, startFailure } from './failure.js';
import { closedError, type Opened, type OpenOptions, openConnection, type StartSettings } from './open.js';
import type { ToolListing } from './tool-list.js';
import type { UpstreamTransport } from './transport.js';

export interface PoolOptions extends OpenOptions {
  /** Returns the key of a server's configuration; a changed configuration gets its own connection. */
  readonly keyOf: (server: ServerEntry) => string;
  /** Called with each tool list of a server. */
  readonly onListing: (server: ServerEntry, listing: ToolListing, connection: Connection) => void;
  /** Called when a server could not be started. */
  readonly onFailure: (server: ServerEntry, error: ToolError) => void;
}

export interface Pool {
  /** Returns a lease of the connection to a server, opening it if necessary. Throws if that fails. */
  acquire(server: ServerEntry, settings: StartSettings, signal?: AbortSignal): Promise<Lease>;
  /** Opens a connection to list the tools, without waiting for the backoff. */
  refresh(server: ServerEntry, settings: StartSettings): Promise<Connection>;
  close(): Promise<void>;
}

/** A use of a connection; it ends by `release`. */
export interface Lease {
  readonly connection: Connection;
  readonly transport: UpstreamTransport;
  /** `answered`: the server works. `lost`: the connection is unusable. `listed`: no tool was called. */
  release(outcome: 'answered' | 'lost' | 'unknown' | 'listed'): void;
}

interface Slot {
  readonly key: string;
  readonly server: ServerEntry;
  readonly opening: Promise<Opened>;
  /** Aborts the opening. */
  readonly stop: AbortController;
  /** Set once open, so that most calls need not await. */
  opened: Opened | undefined;
  users: number;
  wasCalled: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

interface PoolState {
  readonly options: PoolOptions;
  readonly slots: Map<string, Slot>;
  readonly backoff: Backoff;
  readonly closing: Set<Promise<unknown>>;
  isClosed: boolean;
}

const IDLE_MS = 10 * 60_000;
// For servers that were only listed.
const LISTED_IDLE_MS = 5000;

export function createPool(options: PoolOptions): Pool {
  const pool: PoolState = {
    options,
    slots: new Map(),
    backoff: createBackoff(options.world),
    closing: new Set(),
    isClosed: false,
  };
  return {
    acquire: (server, settings, signal) => acquire(pool, server, { settings, signal }),
    async refresh(server, settings) {
      const lease = await acquire(pool, server, { settings, isForced: true });
      lease.release('listed');
      return lease.connection;
    },
    async close() {
      pool.isClosed = true;
      for (const slot of pool.slots.values()) drop(pool, slot);
      await Promise.all(pool.closing);
    },
  };
}

interface AcquireOptions {
  readonly settings: StartSettings;
  readonly signal?: AbortSignal;
  /** Ignores the backoff. */
  readonly isForced?: boolean;
}

async function acquire(
  pool: PoolState,
  server: ServerEntry,
  { settings, signal, isForced = false }: AcquireOptions,
): Promise<Lease> {
  if (pool.isClosed) throw closedError(server);
  const key = pool.options.keyOf(server);
  let slot = pool.slots.get(key);
  if (slot === undefined) {
    if (!isForced) pool.backoff.assertReady(key, server);
    slot = start(pool, key, server, settings);
  }
  slot.users++;
  clearTimeout(slot.idleTimer);
  try {
    return lease(pool, slot, slot.opened ?? (await waitFor(slot.opening, signal)));
  } catch (error) {
    leave(pool, slot);
    throw error;
  }
}

function lease(pool: PoolState, slot: Slot, { connection, transport }: Opened): Lease {
  let isReleased = false;
  return {
    connection,
    transport,
    release(outcome) {
      if (outcome !== 'listed') slot.wasCalled = true;
      if (!isReleased) leave(pool, slot);
      isReleased = true;
      if (outcome === 'answered') pool.backoff.clear(slot.key);
      if (outcome !== 'lost') return;
      // Only the first of several users records the loss.
      if (isCurrent(pool, slot)) recordLoss(pool, slot, transport);
      drop(pool, slot);
    },
  };
}

function start(pool: PoolState, key: string, server: ServerEntry, settings: StartSettings): Slot {
  const stop = new AbortController();
  const opening = openConnection(server, settings, pool.options, stop.signal);
  const slot: Slot = {
    key,
    server,
    opening,
    stop,
    opened: undefined,
    users: 0,
    wasCalled: false,
    idleTimer: undefined,
  };
  pool.slots.set(key, slot);
  opening.then(
    (opened) => onOpen(pool, slot, opened),
    (error: ToolError) => {
      if (isCurrent(pool, slot)) pool.slots.delete(key);
      // An aborted start is not a failure of the server.
      if (stop.signal.aborted) return;
      pool.backoff.record(key, error, false);
      pool.options.onFailure(server, error);
    },
  );
  return slot;
}

function onOpen(pool: PoolState, slot: Slot, opened: Opened): void {
  const { connection, transport } = opened;
  const { server } = slot;
  slot.opened = opened;
  const onListing = (listing: ToolListing): void => {
    try {
      pool.options.onListing(server, listing, connection);
    } catch (error) {
      // The connection stays usable if its listing cannot be stored.
      pool.options.onFailure(server, startFailure(error, { server: server.name }));
    }
  };
  onListing(connection.listing());
  connection.onListing(onListing);
  void connection.closed.then(() => {
    clearTimeout(slot.idleTimer);
    if (!isCurrent(pool, slot)) return;
    pool.slots.delete(slot.key);
    if (slot.users > 0) recordLoss(pool, slot, transport);
  });
  if (pool.isClosed) drop(pool, slot);
  else startIdleTimer(pool, slot);
}

function isCurrent({ slots }: PoolState, slot: Slot): boolean {
  return slots.get(slot.key) === slot;
}

function recordLoss({ backoff }: PoolState, { key, server }: Slot, transport: UpstreamTransport): void {
  const { exit, lastLines } = transport;
  backoff.record(key, serverLost({ server: server.name, exit, lastLines }), true);
}

function leave(pool: PoolState, slot: Slot): void {
  slot.users--;
  if (isCurrent(pool, slot)) startIdleTimer(pool, slot);
}

function startIdleTimer(pool: PoolState, slot: Slot): void {
  clearTimeout(slot.idleTimer);
  if (slot.users > 0) return;
  const idleMs = slot.wasCalled ? IDLE_MS : LISTED_IDLE_MS;
  slot.idleTimer = setTimeout(() => drop(pool, slot), idleMs).unref();
}

function drop(pool: PoolState, slot: Slot): void {
  if (isCurrent(pool, slot)) pool.slots.delete(slot.key);
  clearTimeout(slot.idleTimer);
  slot.stop.abort();
  const closing = slot.opening
    .then(({ connection }) => connection.close())
    .catch(() => {})
    .finally(() => pool.closing.delete(closing));
  pool.closing.add(closing);
}

// A caller that gives up does not stop the opening, which others may wait for.
function waitFor<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void =>
      reject(new ToolError('cancelled', 'the call was cancelled', { hint: 'call it again' }));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
