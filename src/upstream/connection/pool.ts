// Pool of upstream connections: started on first use, shared, closed when idle.

import { inBackground, unlessAborted } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import type { Snapshot } from '../../core/snapshot.js';
import type { ProtocolVersion, ServerEntry } from '../../core/upstream.js';
import { type LoginUser, toUserKey } from '../login/user.js';
import { createBackoff } from './backoff.js';
import type { Connection } from './connection.js';
import { serverLost, startFailure } from './failure.js';
import type { ToolListing } from './fetch-listing.js';
import { closedError, type OpenHow, type OpenOptions, openConnection, type StartSettings } from './open.js';

export interface PoolOptions extends OpenOptions {
  /** Returns the key of a server's configuration; a changed configuration gets its own connection. */
  readonly keyOf: (server: ServerEntry) => string;
  /** Called with each tool list of a server. */
  readonly onListing: (server: ServerEntry, listing: ToolListing, listed: ListedBy) => Promise<void>;
  /** Whether the stored tool list of a server has exactly these tools. */
  readonly isStored: (server: ServerEntry, listing: ToolListing) => boolean;
  /** Whether a server of the newer protocol version may have the older one, too. */
  readonly mayHaveBoth: (server: ServerEntry) => boolean;
  /** Called when a server could not be started. */
  readonly onFailure: (server: ServerEntry, error: ToolError) => void;
  /** Opens connections to servers that are shared with other processes. */
  readonly sharing?: Sharing | undefined;
}

/** Connections that this process shares with others. */
export interface Sharing {
  /** Returns undefined for a server that is not shared. Throws like `openConnection`. */
  open(server: ServerEntry, settings: StartSettings, how: OpenHow): Promise<Connection | undefined>;
  /** Ends a shared server for all processes, or only if none of them uses it. */
  end(server: ServerEntry, settings: StartSettings, when: 'always' | 'unused'): Promise<void>;
  close(): void;
}

/** How a tool list was got. */
export interface ListedBy {
  readonly connection: Connection;
  /** With the login of this user. */
  readonly user: LoginUser | undefined;
  /** The list before it, if only what changed is to be stored. */
  readonly before: ToolListing | undefined;
}

/** Who uses a connection. */
export interface ConnectionUse {
  /** The protocol version of the client: servers that have both use the same one (UPS-105). */
  readonly protocol?: ProtocolVersion | undefined;
  /** Identifies who can be asked by the server, or gets its log messages; undefined if nobody. */
  readonly person?: string | undefined;
}

/** A use of a connection; it ends by `release`. */
export interface Lease {
  /** Whether the stored tool list is one of the other protocol version. */
  readonly isSecondary: boolean;
  readonly connection: Connection;
  /** `answered`: the server works. `lost`: the connection is unusable. `listed`: no tool was called. */
  release(outcome: 'answered' | 'lost' | 'unknown' | 'listed'): void;
}

/** Like `acquire` of a pool, with the settings of a snapshot. */
export type Acquire = (
  server: ServerEntry,
  snapshot: Snapshot,
  use: ConnectionUse,
  signal?: AbortSignal,
) => Promise<Lease>;

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
  readonly opening: Promise<Connection>;
  /** Aborts the opening. */
  readonly stop: AbortController;
  readonly user: LoginUser | undefined;
  /** Opened in the older protocol version although the server has the newer one. */
  isSecondary: boolean;
  /** Whether requests of the server may not say which call they belong to. */
  isOlder: boolean;
  opened?: Connection;
  users: number;
  /** The person of each running call, and of the last one. */
  readonly people: string[];
  lastPerson?: string | undefined;
  wasCalled: boolean;
  idleTimer?: NodeJS.Timeout;
}

const IDLE_MS = 10 * 60_000;
// For servers that were only listed.
const LISTED_IDLE_MS = 5000;
// Connections to one server, if calls of as many persons run at the same time.
const MAX_CONNECTIONS = 16;

export class Pool {
  readonly #options: PoolOptions;
  readonly #backoff: ReturnType<typeof createBackoff>;
  readonly #slots = new Set<Slot>();
  readonly #closing = new Set<Promise<unknown>>();
  // The last connection to each server, for its output.
  readonly #last = new Map<string, Connection>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#backoff = createBackoff(options.world);
  }

  /** Returns a lease of a connection to a server, opening one if necessary. Throws if that fails. */
  async acquire(
    server: ServerEntry,
    settings: StartSettings,
    use: ConnectionUse = {},
    {
      signal,
      ignoresBackoff = false,
    }: { readonly signal?: AbortSignal | undefined; readonly ignoresBackoff?: boolean } = {},
  ): Promise<Lease> {
    if (this.#isClosed) throw closedError(server);
    // A server that may request something else is told so when it is connected.
    const own = settings.user === undefined ? [] : [toUserKey(settings.user)];
    const key = [this.#options.keyOf(server), ...settings.announces, ...own].join(' ');
    const hasBoth = server.protocol === undefined && this.#options.mayHaveBoth(server);
    const isSecondary = hasBoth && use.protocol === '2025-11-25';
    const open = [...this.#slots].filter((one) => one.key === key && (!hasBoth || one.isSecondary === isSecondary));
    let slot = choose(open, use.person);
    if (slot === undefined) {
      try {
        if (!ignoresBackoff) this.#backoff.assertReady(key, server);
        slot = this.#start(server, settings, { key, isSecondary, isOlder: isSecondary || !hasBoth });
        const lease = await this.#use(slot, use, signal);
        // The server refused the older version: its two connections of the newer one become one.
        const same = [...this.#slots].find((one) => one !== slot && one.key === key);
        if (slot.isSecondary === isSecondary || same === undefined) return lease;
        if (same.users === 0) this.#drop(same);
        if (same.users === 0) return lease;
        lease.release('unknown');
        this.#drop(slot);
        return await this.#use(same, use, signal);
      } catch (error) {
        // Some servers can only run once.
        slot = open.find(({ opened }) => opened !== undefined);
        if (slot === undefined || signal?.aborted) throw error;
      }
    }
    return this.#use(slot, use, signal);
  }

  async #use(slot: Slot, { person }: ConnectionUse, signal: AbortSignal | undefined): Promise<Lease> {
    slot.users++;
    if (person !== undefined) slot.people.push(person);
    slot.lastPerson = person ?? slot.lastPerson;
    clearTimeout(slot.idleTimer);
    try {
      return this.#lease(slot, slot.opened ?? (await waitFor(slot.opening, signal)), person);
    } catch (error) {
      this.#leave(slot, person);
      throw error;
    }
  }

  /**
   * Opens a connection to list the tools, without waiting for the backoff: with `refresh` to a new process if no other session
   * uses the server, with `restart` after ending the one that runs.
   */
  async list(
    server: ServerEntry,
    settings: StartSettings,
    how: 'list' | 'refresh' | 'restart' = 'list',
  ): Promise<void> {
    if (how === 'restart') this.end(server);
    if (how !== 'list') await this.#options.sharing?.end(server, settings, how === 'restart' ? 'always' : 'unused');
    const lease = await this.acquire(server, settings, {}, { ignoresBackoff: true });
    lease.release('listed');
  }

  /** Closes the connections to a server. */
  end(server: ServerEntry): void {
    for (const slot of this.#slotsOf(server)) this.#drop(slot);
  }

  describe(server: ServerEntry): ConnectionState | undefined {
    const last = this.#last.get(this.#options.keyOf(server));
    if (last === undefined) return undefined;
    const isOpen = this.#slotsOf(server).some(({ opened }) => opened === last);
    const state = { isOpen, protocol: last.protocol, lastLines: last.transport.lastLines ?? [] };
    return this.#options.redact(state, server.name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const slot of this.#slots) this.#drop(slot);
    await Promise.all(this.#closing);
    this.#options.sharing?.close();
  }

  #slotsOf(server: ServerEntry): readonly Slot[] {
    const key = this.#options.keyOf(server);
    return [...this.#slots].filter((slot) => this.#options.keyOf(slot.server) === key);
  }

  #lease(slot: Slot, connection: Connection, person: string | undefined): Lease {
    let isReleased = false;
    return {
      isSecondary: slot.isSecondary,
      connection,
      release: (outcome) => {
        if (outcome !== 'listed') slot.wasCalled = true;
        if (!isReleased) this.#leave(slot, person);
        isReleased = true;
        if (outcome === 'answered') this.#backoff.clear(slot.key);
        if (outcome !== 'lost') return;
        // Only the first of several users records the loss.
        if (this.#slots.has(slot)) this.#recordLoss(slot, connection);
        this.#drop(slot);
      },
    };
  }

  #start(server: ServerEntry, settings: StartSettings, own: Pick<Slot, 'key' | 'isSecondary' | 'isOlder'>): Slot {
    const stop = new AbortController();
    const how = { signal: stop.signal, older: own.isSecondary ? ('first' as const) : undefined };
    const opening = this.#open(server, settings, how).then(async (connection) => {
      slot.isOlder = connection.version.kind === 'legacy';
      slot.isSecondary &&= slot.isOlder;
      await this.#onOpen(slot, connection);
      if (slot.isSecondary && !this.#options.isStored(server, connection.listing()))
        inBackground(this.list(server, settings), this.#options.world.debug);
      return connection;
    });
    const slot: Slot = { ...own, server, user: settings.user, opening, stop, users: 0, people: [], wasCalled: false };
    this.#slots.add(slot);
    opening.catch((error: ToolError) => {
      this.#slots.delete(slot);
      // An aborted start is not a failure of the server.
      if (stop.signal.aborted) return;
      this.#backoff.record(slot.key, error, false);
      this.#options.onFailure(server, error);
    });
    return slot;
  }

  async #open(server: ServerEntry, settings: StartSettings, how: OpenHow): Promise<Connection> {
    const shared = await this.#options.sharing?.open(server, settings, how);
    return shared ?? openConnection(server, settings, this.#options, how);
  }

  // Resolves when the first listing is stored.
  async #onOpen(slot: Slot, connection: Connection): Promise<void> {
    const { server, user } = slot;
    slot.opened = connection;
    this.#last.set(this.#options.keyOf(server), connection);
    let known = connection.listing();
    const store = (listing: ToolListing, before?: ToolListing): Promise<void> =>
      this.#options.onListing(server, listing, { connection, user, before }).catch((error: unknown) => {
        // The connection stays usable if its listing cannot be stored.
        this.#options.onFailure(server, startFailure(error, { server: server.name }));
      });
    const stored = slot.isSecondary ? Promise.resolve() : store(known);
    // One after the other, so that the last one stays.
    let last = stored;
    connection.onListing((listing) => {
      const before = slot.isSecondary ? known : undefined;
      known = listing;
      last = last.then(() => store(listing, before));
    });
    const onClosed = (): void => {
      clearTimeout(slot.idleTimer);
      if (!this.#slots.delete(slot)) return;
      if (slot.users > 0) this.#recordLoss(slot, connection);
    };
    connection.closed.then(onClosed, onClosed);
    if (this.#isClosed) this.#drop(slot);
    else this.#startIdleTimer(slot);
    await stored;
  }

  #recordLoss({ key, server }: Slot, { transport: { exit, lastLines } }: Connection): void {
    this.#backoff.record(key, serverLost({ server: server.name, exit, lastLines }), true);
  }

  #leave(slot: Slot, person: string | undefined): void {
    slot.users--;
    if (person !== undefined) slot.people.splice(slot.people.indexOf(person), 1);
    if (this.#slots.has(slot)) this.#startIdleTimer(slot);
  }

  #startIdleTimer(slot: Slot): void {
    clearTimeout(slot.idleTimer);
    if (slot.users > 0) return;
    const idleMs = slot.wasCalled ? IDLE_MS : LISTED_IDLE_MS;
    slot.idleTimer = setTimeout(() => this.#drop(slot), idleMs).unref();
  }

  #drop(slot: Slot): void {
    this.#slots.delete(slot);
    clearTimeout(slot.idleTimer);
    slot.stop.abort();
    const closing = slot.opening
      .then((connection) => connection.close())
      .catch(() => {})
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

// A connection of the older protocol version serves calls of one person at a time: what its server asks or logs during them
// does not name the call (UPS-106). Undefined if another one is to be opened.
function choose(open: readonly Slot[], person: string | undefined): Slot | undefined {
  const isFree = ({ isOlder, people }: Slot): boolean =>
    person === undefined || !isOlder || people.every((one) => one === person);
  const free = open.filter(isFree);
  const found = free.find(({ lastPerson }) => lastPerson === person) ?? free[0];
  if (found !== undefined || open.length < MAX_CONNECTIONS) return found;
  return open.reduce((least, slot) => (slot.people.length < least.people.length ? slot : least));
}

// A caller that gives up does not stop the opening, which others may wait for.
function waitFor<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const cancelled = () => new ToolError('cancelled', 'the call was cancelled', { hint: 'call it again' });
  return signal === undefined ? promise : unlessAborted(promise, signal, cancelled);
}
