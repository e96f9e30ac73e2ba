// Pool of upstream connections: started on first use, shared, closed when idle.

import { ToolError } from '../../core/error.js';
import type { Snapshot, World } from '../../core/snapshot.js';
import { formatDuration } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { Connection } from './connection.js';
import { serverLost, startFailure } from './failure.js';
import type { ToolListing } from './fetch-listing.js';
import { closedError, type Opened, type OpenOptions, openConnection, type StartSettings } from './open.js';
import type { UpstreamTransport } from './transport.js';

export interface PoolOptions extends OpenOptions {
  /** Returns the key of a server's configuration; a changed configuration gets its own connection. */
  readonly keyOf: (server: ServerEntry) => string;
  /** Called with each tool list of a server. */
  readonly onListing: (server: ServerEntry, listing: ToolListing, connection: Connection) => Promise<void>;
  /** Called when a server could not be started. */
  readonly onFailure: (server: ServerEntry, error: ToolError) => void;
}

/** A use of a connection; it ends by `release`. */
export interface Lease {
  readonly connection: Connection;
  readonly transport: UpstreamTransport;
  /** `answered`: the server works. `lost`: the connection is unusable. `listed`: no tool was called. */
  release(outcome: 'answered' | 'lost' | 'unknown' | 'listed'): void;
}

/** Like `acquire` of a pool, with the settings of a snapshot. */
export type Acquire = (server: ServerEntry, snapshot: Snapshot, signal?: AbortSignal) => Promise<Lease>;

/** What is known of the last connection to a server. */
export interface ConnectionState {
  readonly isOpen: boolean;
  readonly protocol: string | undefined;
  /** The last lines that it wrote to stderr. */
  readonly lastLines: readonly string[];
}

interface Slot {
  readonly key: string;
  readonly server: ServerEntry;
  readonly opening: Promise<Opened>;
  /** Aborts the opening. */
  readonly stop: AbortController;
  opened?: Opened;
  users: number;
  wasCalled: boolean;
  idleTimer?: NodeJS.Timeout;
}

const IDLE_MS = 10 * 60_000;
// For servers that were only listed.
const LISTED_IDLE_MS = 5000;
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 60_000;

export class Pool {
  readonly #options: PoolOptions;
  readonly #backoff: ReturnType<typeof createBackoff>;
  readonly #slots = new Map<string, Slot>();
  readonly #closing = new Set<Promise<unknown>>();
  // The last connection to each server, for its output.
  readonly #last = new Map<string, Opened>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#backoff = createBackoff(options.world);
  }

  /** Returns a lease of the connection to a server, opening it if necessary. Throws if that fails. */
  async acquire(
    server: ServerEntry,
    settings: StartSettings,
    signal?: AbortSignal,
    ignoresBackoff = false,
  ): Promise<Lease> {
    if (this.#isClosed) throw closedError(server);
    // A server that may request something else is told so when it is connected.
    const key = [this.#options.keyOf(server), ...settings.announces].join(' ');
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      if (!ignoresBackoff) this.#backoff.assertReady(key, server);
      slot = this.#start(key, server, settings);
    }
    slot.users++;
    clearTimeout(slot.idleTimer);
    try {
      return this.#lease(slot, slot.opened ?? (await waitFor(slot.opening, signal)));
    } catch (error) {
      this.#leave(slot);
      throw error;
    }
  }

  /** Opens a connection to list the tools, without waiting for the backoff. */
  async refresh(server: ServerEntry, settings: StartSettings): Promise<Connection> {
    const lease = await this.acquire(server, settings, undefined, true);
    lease.release('listed');
    return lease.connection;
  }

  /** Closes the connection to a server, if there is one, and opens another. */
  async restart(server: ServerEntry, settings: StartSettings): Promise<void> {
    for (const slot of this.#slotsOf(server)) this.#drop(slot);
    await this.refresh(server, settings);
  }

  /** Describes the last connection to a server. */
  describe(server: ServerEntry): ConnectionState | undefined {
    const last = this.#last.get(this.#options.keyOf(server));
    if (last === undefined) return undefined;
    const { connection, transport } = last;
    const isOpen = this.#slotsOf(server).some(({ opened }) => opened === last);
    const state = { isOpen, protocol: connection.protocol, lastLines: transport.lastLines ?? [] };
    return this.#options.redact(state, server.name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const slot of this.#slots.values()) this.#drop(slot);
    await Promise.all(this.#closing);
  }

  #slotsOf(server: ServerEntry): readonly Slot[] {
    const key = this.#options.keyOf(server);
    return [...this.#slots.values()].filter((slot) => this.#options.keyOf(slot.server) === key);
  }

  #lease(slot: Slot, { connection, transport }: Opened): Lease {
    let isReleased = false;
    return {
      connection,
      transport,
      release: (outcome) => {
        if (outcome !== 'listed') slot.wasCalled = true;
        if (!isReleased) this.#leave(slot);
        isReleased = true;
        if (outcome === 'answered') this.#backoff.clear(slot.key);
        if (outcome !== 'lost') return;
        // Only the first of several users records the loss.
        if (this.#isCurrent(slot)) this.#recordLoss(slot, transport);
        this.#drop(slot);
      },
    };
  }

  #start(key: string, server: ServerEntry, settings: StartSettings): Slot {
    const stop = new AbortController();
    const opening = openConnection(server, settings, this.#options, stop.signal).then(async (opened) => {
      await this.#onOpen(slot, opened);
      return opened;
    });
    const slot: Slot = { key, server, opening, stop, users: 0, wasCalled: false };
    this.#slots.set(key, slot);
    opening.catch((error: ToolError) => {
      if (this.#isCurrent(slot)) this.#slots.delete(key);
      // An aborted start is not a failure of the server.
      if (stop.signal.aborted) return;
      this.#backoff.record(key, error, false);
      this.#options.onFailure(server, error);
    });
    return slot;
  }

  // Resolves when the first listing is stored.
  async #onOpen(slot: Slot, opened: Opened): Promise<void> {
    const { connection, transport } = opened;
    const { server } = slot;
    slot.opened = opened;
    this.#last.set(this.#options.keyOf(server), opened);
    const store = (listing: ToolListing): Promise<void> =>
      this.#options.onListing(server, listing, connection).catch((error: unknown) => {
        // The connection stays usable if its listing cannot be stored.
        this.#options.onFailure(server, startFailure(error, { server: server.name }));
      });
    const stored = store(connection.listing());
    // One after the other, so that the last one stays.
    let last = stored;
    connection.onListing((listing) => {
      last = last.then(() => store(listing));
    });
    const onClosed = (): void => {
      clearTimeout(slot.idleTimer);
      if (!this.#isCurrent(slot)) return;
      this.#slots.delete(slot.key);
      if (slot.users > 0) this.#recordLoss(slot, transport);
    };
    connection.closed.then(onClosed, onClosed);
    if (this.#isClosed) this.#drop(slot);
    else this.#startIdleTimer(slot);
    await stored;
  }

  #isCurrent(slot: Slot): boolean {
    return this.#slots.get(slot.key) === slot;
  }

  #recordLoss({ key, server }: Slot, { exit, lastLines }: UpstreamTransport): void {
    this.#backoff.record(key, serverLost({ server: server.name, exit, lastLines }), true);
  }

  #leave(slot: Slot): void {
    slot.users--;
    if (this.#isCurrent(slot)) this.#startIdleTimer(slot);
  }

  #startIdleTimer(slot: Slot): void {
    clearTimeout(slot.idleTimer);
    if (slot.users > 0) return;
    const idleMs = slot.wasCalled ? IDLE_MS : LISTED_IDLE_MS;
    slot.idleTimer = setTimeout(() => this.#drop(slot), idleMs).unref();
  }

  #drop(slot: Slot): void {
    if (this.#isCurrent(slot)) this.#slots.delete(slot.key);
    clearTimeout(slot.idleTimer);
    slot.stop.abort();
    const closing = slot.opening
      .then(({ connection }) => connection.close())
      .catch(() => {})
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

// A caller that gives up does not stop the opening, which others may wait for.
function waitFor<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new ToolError('cancelled', 'the call was cancelled', { hint: 'call it again' }));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

interface FailureRecord {
  readonly count: number;
  /** Monotonic time of the next attempt. */
  readonly until: number;
  readonly error: ToolError;
}

// Delays between attempts to start a server that failed.
function createBackoff(world: World) {
  const records = new Map<string, FailureRecord>();
  return {
    /** Records a failure. A server that had been running is restarted without delay the first time. */
    record(key: string, error: ToolError, wasRunning: boolean): void {
      const count = (records.get(key)?.count ?? 0) + 1;
      const delay = wasRunning && count === 1 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (count - 1), MAX_DELAY_MS);
      records.set(key, { count, until: world.monotonic() + delay, error });
    },
    clear: (key: string): unknown => records.delete(key),
    /** Throws the last error while the delay has not passed. */
    assertReady(key: string, { name }: ServerEntry): void {
      const record = records.get(key);
      const delay = record === undefined ? 0 : record.until - world.monotonic();
      if (delay <= 0) return;
      const { message, data } = record!.error;
      const shown = formatDuration(Math.ceil(delay / 1000) * 1000);
      throw new ToolError('unavailable', message, {
        hint: `retried in ${shown}; to retry now: wield mcp refresh ${name}`,
        data,
        cause: record!.error,
      });
    },
  };
}
