// The servers that run: each started at the first call that needs it, once for all who wait, and ended when idle.

import { ToolError } from '../../core/error.js';
import { formatDuration } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import type { ToolListing } from '../catalog/tool-list.js';
import { type Connection, connect, type Verdict, type Wire } from './connection.js';
import { isSettled, serverLost, startFailure, startTimeout } from './failure.js';

export interface PoolOptions {
  readonly world: World;
  readonly version: string;
  /** Names one configuration of a server; another one is another server. */
  readonly keyOf: (server: ServerEntry) => string;
  /** The wire to a server, not started. References are expanded here. */
  readonly open: (server: ServerEntry) => Promise<Wire>;
  /** Takes the secrets that servers were given out of what one says of itself. */
  readonly redact: <T>(said: T) => T;
  /** What is known of a server's era. */
  readonly verdictOf: (server: ServerEntry) => Verdict | undefined;
  /** Told of each list of tools that a server gave. */
  readonly onListing: (server: ServerEntry, listing: ToolListing, connection: Connection) => void;
  /** Told why a server could not be started. */
  readonly onFailure: (server: ServerEntry, error: ToolError) => void;
}

export interface Pool {
  /** The connection to a server, started where there is none. Throws why there is none. */
  acquire(server: ServerEntry, signal?: AbortSignal): Promise<Lease>;
  /** Starts a server for its list of tools alone, whatever happened before. */
  refresh(server: ServerEntry): Promise<Connection>;
  close(): Promise<void>;
}

/** A use of a connection; it ends by `release`. */
export interface Lease {
  readonly connection: Connection;
  readonly wire: Wire;
  /**
   * `lost`: the connection is of no use any more. `answered`: the server does its work. `listed`: nothing was called.
   */
  release(outcome: 'answered' | 'lost' | 'unknown' | 'listed'): void;
}

interface Slot {
  readonly opening: Promise<Opened>;
  /** Gives up the opening. */
  readonly stop: AbortController;
  /** Set once it is open: most calls find it so, and wait for nothing. */
  opened: Opened | undefined;
  users: number;
  called: boolean;
  idle: NodeJS.Timeout | undefined;
}

interface Trouble {
  readonly count: number;
  readonly until: number;
  readonly error: ToolError;
}

const START_MS = 30_000;
// A server that nobody called for this long ends; one that was only listed ends soon.
const IDLE_MS = 10 * 60_000;
const LISTED_MS = 5000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

export function createPool(options: PoolOptions): Pool {
  const { world, keyOf } = options;
  const slots = new Map<string, Slot>();
  const troubles = new Map<string, Trouble>();
  const ending = new Set<Promise<unknown>>();
  let closed = false;

  const recordTrouble = (key: string, error: ToolError, wasUp: boolean): void => {
    const count = (troubles.get(key)?.count ?? 0) + 1;
    // One that worked and went is started again at once, the first time.
    const wait = wasUp && count === 1 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (count - 1), LONGEST_WAIT_MS);
    troubles.set(key, { count, until: world.monotonic() + wait, error });
  };

  const recordLoss = (key: string, { name }: ServerEntry, { ending, lastLines }: Wire): void => {
    recordTrouble(key, serverLost({ server: name, ending, lastLines }), true);
  };

  const end = (slot: Slot): void => {
    clearTimeout(slot.idle);
    slot.stop.abort();
    const over = slot.opening
      .then(({ connection }) => connection.close())
      .catch(() => {})
      .finally(() => ending.delete(over));
    ending.add(over);
  };

  const drop = (key: string, slot: Slot): void => {
    if (slots.get(key) === slot) slots.delete(key);
    end(slot);
  };

  const start = (key: string, server: ServerEntry): Slot => {
    const stop = new AbortController();
    const opening = open(server, options, stop.signal);
    const slot: Slot = { opening, stop, opened: undefined, users: 0, called: false, idle: undefined };
    slots.set(key, slot);
    opening.then(
      (opened) => {
        const { connection, wire } = opened;
        slot.opened = opened;
        const tell = (listing: ToolListing): void => {
          try {
            options.onListing(server, listing, connection);
          } catch (error) {
            // A list that cannot be kept is no reason to end what works.
            options.onFailure(server, startFailure(error, { server: server.name }));
          }
        };
        tell(connection.listing());
        connection.onListing(tell);
        void connection.gone.then(() => {
          clearTimeout(slot.idle);
          // One that goes while nobody uses it has done its work.
          if (slots.get(key) === slot) {
            slots.delete(key);
            if (slot.users > 0) recordLoss(key, server, wire);
          }
        });
        if (closed) drop(key, slot);
        else rest(key, slot);
      },
      (error: ToolError) => {
        if (slots.get(key) === slot) slots.delete(key);
        // Given up, which says nothing about the server.
        if (stop.signal.aborted) return;
        recordTrouble(key, error, false);
        options.onFailure(server, error);
      },
    );
    return slot;
  };

  const rest = (key: string, slot: Slot): void => {
    clearTimeout(slot.idle);
    if (slot.users === 0)
      slot.idle = setTimeout(() => drop(key, slot), slot.called ? IDLE_MS : LISTED_MS).unref();
  };

  const acquire = async (server: ServerEntry, signal?: AbortSignal, forced = false): Promise<Lease> => {
    if (closed) throw givenUp(server);
    const key = keyOf(server);
    let slot = slots.get(key);
    if (slot === undefined) {
      const trouble = troubles.get(key);
      const wait = trouble === undefined ? 0 : trouble.until - world.monotonic();
      if (wait > 0 && !forced) throw stillDown(server, trouble!.error, wait);
      slot = start(key, server);
    }
    const mine = slot;
    mine.users++;
    clearTimeout(mine.idle);
    let released = false;
    const leave = (): void => {
      if (released) return;
      released = true;
      mine.users--;
      if (slots.get(key) === mine) rest(key, mine);
    };
    try {
      const { connection, wire } = mine.opened ?? (await waitFor(mine.opening, signal));
      return {
        connection,
        wire,
        release(outcome) {
          if (outcome !== 'listed') mine.called = true;
          leave();
          if (outcome === 'answered') troubles.delete(key);
          if (outcome !== 'lost') return;
          // Whoever is first to know that it went says so.
          if (slots.get(key) === mine) recordLoss(key, server, wire);
          drop(key, mine);
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  };

  return {
    acquire,
    async refresh(server) {
      const lease = await acquire(server, undefined, true);
      lease.release('listed');
      return lease.connection;
    },
    async close() {
      closed = true;
      for (const [key, slot] of slots) drop(key, slot);
      await Promise.all(ending);
    },
  };
}

type Opened = { readonly connection: Connection; readonly wire: Wire };

async function open(server: ServerEntry, options: PoolOptions, given: AbortSignal): Promise<Opened> {
  const { world, version } = options;
  const limit = server.startTimeoutMs ?? START_MS;
  const deadline = world.monotonic() + limit;
  const attempt = async (verdict: Verdict | undefined, other?: () => Promise<Opened>): Promise<Opened> => {
    const wire = await options.open(server);
    const stop = new AbortController();
    const giveUp = (): void => {
      stop.abort();
      void wire.close();
    };
    const timer = setTimeout(giveUp, Math.max(1, deadline - world.monotonic()));
    given.addEventListener('abort', giveUp, { once: true });
    if (given.aborted) giveUp();
    try {
      const { signal } = stop;
      const { debug } = world;
      const { redact } = options;
      const connection = await connect(wire, { name: server.name, version, verdict, signal, debug, redact });
      return { connection, wire };
    } catch (error) {
      const isLate = stop.signal.aborted;
      const { ending } = wire;
      await wire.close().catch(() => {});
      if (given.aborted) throw givenUp(server);
      const about = { server: server.name, ending, lastLines: wire.lastLines };
      const failure = isLate ? startTimeout(limit, about) : startFailure(error, about);
      // Some servers end when they are asked before they are greeted, and a verdict may have become wrong.
      const mayBeEra = !isLate && !isSettled(error) && (verdict !== undefined || ending !== undefined);
      if (other === undefined || !mayBeEra) throw failure;
      world.debug(`${server.name}: ${failure.message}; tried again in another way`);
      return other().catch(() => {
        throw failure;
      });
    } finally {
      clearTimeout(timer);
      given.removeEventListener('abort', giveUp);
    }
  };
  const known = options.verdictOf(server);
  return attempt(known, () => attempt(known === undefined ? { kind: 'legacy' } : undefined));
}

function givenUp({ name }: ServerEntry): ToolError {
  return new ToolError('cancelled', `${name} is closed`, { hint: 'open another toolbox' });
}

function stillDown(server: ServerEntry, error: ToolError, wait: number): ToolError {
  return new ToolError('unavailable', error.message, {
    hint: `it is tried again in ${formatDuration(Math.ceil(wait / 1000) * 1000)}; wield mcp refresh ${server.name} tries at once`,
    data: error.data,
    cause: error,
  });
}

// Whoever goes does not end what others wait for.
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
