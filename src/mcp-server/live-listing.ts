// The lists of a server, shared by all connections: per user, in mode `auto` per decided mode, and followed for changes.

import type { Caller } from '../core/caller.js';
import type { Toolbox } from '../core/toolbox.js';
import type { AutoMode } from '../core/view.js';
import { type Identity, identityKey, toCaller } from './identity.js';
import { LiveListing } from './listing.js';

/** The lists of a server. */
export type ListKind = 'tools' | 'resources' | 'prompts';

/** A list of a user has changed. */
export interface ListChange {
  readonly kind: ListKind;
  readonly identity: Identity | undefined;
  /** Whether the list is that of sessions with this mode. */
  concerns(mode: AutoMode | undefined): boolean;
}

export type Listings = ReturnType<typeof createListings>;

type UserLists = ReturnType<typeof createUserLists>;

// Of users; that which was not used for longest is made again.
const MAX_LISTINGS = 200;
// Watching takes 10 ms to begin, which the first answers need not wait for.
const WATCH_AFTER_MS = 50;

/** Creates the lists of all users, each made when it is first needed. */
export function createListings(toolbox: Toolbox, onError?: (error: Error) => void) {
  const known = new Map<string | undefined, UserLists>();
  const listeners = new Set<(change: ListChange) => void>();
  const open = (identity: Identity | undefined): UserLists =>
    createUserLists(toolbox, toCaller(identity), {
      onError,
      announce(kind, concerns = () => true) {
        for (const listener of [...listeners]) listener({ kind, identity, concerns });
      },
    });
  const find = (identity: Identity | undefined): UserLists => {
    // Groups may change with every token, and the profile with the configuration.
    const key = identity && JSON.stringify([identityKey(identity), identity.groups, identity.profile]);
    const lists = known.get(key) ?? open(identity);
    // Most servers have one user.
    if (known.size === 1 && known.has(key)) return lists;
    known.delete(key);
    known.set(key, lists);
    if (known.size > MAX_LISTINGS) {
      const [oldest, unused] = known.entries().next().value!;
      known.delete(oldest);
      unused.close();
    }
    return lists;
  };
  return {
    /** Returns the tools for a user, and for sessions of theirs whose mode `auto` was decided to be this one. */
    of: (identity: Identity | undefined, mode?: AutoMode): LiveListing => find(identity).tools(mode),
    /** Begins to notice changes of all lists of a user; starts no server. Before the first call or list nobody can miss one. */
    watch: (identity: Identity | undefined): void => find(identity).watch(),
    /** Calls the listener when a list has changed. */
    onChange(listener: (change: ListChange) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close(): void {
      for (const lists of known.values()) lists.close();
    },
  };
}

interface Followers {
  announce(kind: ListKind, concerns?: ListChange['concerns']): void;
  readonly onError?: ((error: Error) => void) | undefined;
}

function createUserLists(toolbox: Toolbox, caller: Caller, { announce, onError }: Followers) {
  const listings = new Map<AutoMode | undefined, LiveListing>();
  const others: Record<'resources' | 'prompts', string | undefined> = { resources: undefined, prompts: undefined };
  const compareOthers = async (kind: 'resources' | 'prompts'): Promise<void> => {
    const all = await toolbox.catalog[kind].list({ caller, knownOnly: true });
    const now = JSON.stringify(all.map(({ tool, fields }) => [tool.name, fields]));
    const before = others[kind];
    others[kind] = now;
    if (before !== undefined && before !== now) announce(kind);
  };
  const compareTools = async (mode: AutoMode | undefined, listing: LiveListing): Promise<void> => {
    if (await listing.hasChanged()) announce('tools', (one) => one === mode);
  };
  const compare = (): void => {
    const tools = [...listings].map(([mode, listing]) => compareTools(mode, listing));
    for (const comparing of [...tools, compareOthers('resources'), compareOthers('prompts')])
      comparing.catch((error: Error) => onError?.(error));
  };
  let isClosed = false;
  let unwatch: (() => void) | undefined;
  const watchNow = (): void => {
    if (unwatch !== undefined || isClosed) return;
    unwatch = toolbox.catalog.watch(compare);
    // Finds what changed since the first listing.
    compare();
  };
  let soon: NodeJS.Timeout | undefined;
  return {
    tools(mode: AutoMode | undefined): LiveListing {
      const listing = listings.get(mode) ?? new LiveListing({ toolbox, caller, decided: mode, watch: watchNow });
      listings.set(mode, listing);
      return listing;
    },
    watch(): void {
      soon ??= setTimeout(watchNow, WATCH_AFTER_MS).unref();
    },
    close(): void {
      isClosed = true;
      clearTimeout(soon);
      unwatch?.();
    },
  };
}
