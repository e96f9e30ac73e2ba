// The tool lists of servers: stored ones, with changed tools as they were approved, and requests for new ones.

import type { ToolError } from '../../core/error.js';
import type { Snapshot, World } from '../../core/snapshot.js';
import { formatDuration } from '../../core/text.js';
import { settlesWithin } from '../../core/time-limit.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { describeServer } from '../entries/mask.js';
import { runnerOf } from '../entries/package-runner.js';
import {
  type ApprovedDefinition,
  type FailedStart,
  isFailedStart,
  type Listing,
  type ListingFiles,
  type StoredTool,
} from './listing-file.js';
import { isOf, type ServerTools, type ToolContext, toServerTools, toTool } from './tools.js';

export interface ListingsOptions {
  /** Returns the hash of a server's configuration. */
  readonly configurationOf: (server: ServerEntry) => string;
  readonly files: ListingFiles;
  /** Compares tools with their pins; returns the approved definitions of changed ones. */
  readonly approved: (tools: readonly Tool[]) => readonly (ApprovedDefinition | undefined)[];
  /** Pins the tools that have no pin yet. */
  readonly pinNew: (tools: readonly Tool[]) => Promise<void>;
  /** Starts a server to list its tools. */
  readonly refresh: (server: ServerEntry, snapshot: Snapshot) => Promise<unknown>;
  /** Called with the servers that a caller waits for whenever that changes; empty at the end. */
  readonly onWait?: (servers: readonly string[]) => void;
  readonly world: World;
}

export type Listings = ReturnType<typeof createListings>;

const VERSION_LIFETIME_MS = 24 * 3_600_000;
// A list that did not change is not stored again for so long: sessions that share a server all get it.
const SAME_LIST_MS = 3_600_000;
const FIRST_RETRY_MS = 5000;
const MAX_RETRY_MS = 10 * 60_000;
// A server that could not be started before does not hold up a listing for long.
const FAILED_MS = 5000;

export function createListings(options: ListingsOptions) {
  const { configurationOf, files, world } = options;
  const known = new Map<string, ServerTools>();
  // What callers of this process were shown of a server; null if that was not always the same.
  const shown = new Map<string, string | null>();
  const requests = createRequests(options);

  const load = (server: ServerEntry): Listing | FailedStart | undefined => {
    const configuration = configurationOf(server);
    const listing = files.load(configuration);
    if (listing === undefined || isFailedStart(listing)) return listing;
    if (known.get(configuration)?.listing === listing || isOf(listing, server)) return listing;
    world.debug(`the stored tool list of the server ${server.name} is invalid and is not used`);
    return undefined;
  };
  const loadListing = (server: ServerEntry): Listing | undefined => {
    const listing = load(server);
    return listing === undefined || isFailedStart(listing) ? undefined : listing;
  };
  // What was stored before the clock was set back may be of any age.
  const ageOf = ({ at }: Listing | FailedStart): number => (at > world.now() ? Infinity : world.now() - at);
  const contextOf = (server: ServerEntry): ToolContext => ({
    server,
    configuration: configurationOf(server),
    target: describeServer(server),
  });
  const toTools = (server: ServerEntry, tools: readonly StoredTool[]): readonly Tool[] => {
    const context = contextOf(server);
    return tools.map((tool) => toTool(tool, context));
  };
  const compare = (server: ServerEntry, tools: readonly StoredTool[]) => options.approved(toTools(server, tools));
  // Adds the approved definitions of changed tools.
  const save = (server: ServerEntry, { tools, ...header }: Listing): void => {
    const approved = compare(server, tools);
    const stored = tools.map(({ approved: _, ...now }, at) => ({
      ...now,
      ...(approved[at] === undefined ? {} : { approved: approved[at] }),
    }));
    files.save(configurationOf(server), { ...header, tools: stored });
  };
  // A process that was killed after pinning a tool left it marked as changed.
  const withoutStaleMarks = (server: ServerEntry, listing: Listing): Listing => {
    const marked = listing.tools.filter(({ approved }) => approved !== undefined);
    if (compare(server, marked).every((one) => one !== undefined)) return listing;
    save(server, listing);
    return loadListing(server) ?? listing;
  };

  return {
    request: requests.request,
    isRequested: requests.isPending,

    /** Returns the tools of a server, why its last start failed, or undefined if it was never listed. */
    toolsOf(server: ServerEntry): ServerTools | FailedStart | undefined {
      const listing = load(server);
      if (listing === undefined || isFailedStart(listing)) return listing;
      const configuration = configurationOf(server);
      const before = known.get(configuration);
      if (before?.listing === listing && before.server === server) return before;
      const tools = toServerTools(withoutStaleMarks(server, listing), contextOf(server));
      known.set(configuration, tools);
      const now = summarize(listing);
      if (!shown.has(configuration)) shown.set(configuration, now);
      else if (shown.get(configuration) !== now) shown.set(configuration, null);
      return tools;
    },

    /** Whether a server should be started to list its tools: never listed, or failed long enough ago. */
    isDue(server: ServerEntry): boolean {
      const listing = load(server);
      if (listing === undefined) return true;
      if (!isFailedStart(listing)) return false;
      return ageOf(listing) >= Math.min(FIRST_RETRY_MS * 2 ** (listing.count - 1), MAX_RETRY_MS);
    },

    /** Returns the protocol version of a server that was negotiated last, if that was recently. */
    knownVersionOf(server: ServerEntry): Listing['version'] | undefined {
      const listing = loadListing(server);
      return listing !== undefined && ageOf(listing) < VERSION_LIFETIME_MS ? listing.version : undefined;
    },

    stored: loadListing,

    /** Whether callers have to be told of a list: other sessions may have stored it before, and each gets it again. */
    isNews(server: ServerEntry, listing: Pick<Listing, 'tools' | 'faults'>): boolean {
      const configuration = configurationOf(server);
      const now = summarize(listing);
      if (shown.get(configuration) === now) return false;
      shown.set(configuration, now);
      return true;
    },

    async store(server: ServerEntry, listing: Omit<Listing, 'at'>): Promise<void> {
      await options.pinNew(toTools(server, listing.tools));
      const before = loadListing(server);
      const isRecent = before !== undefined && ageOf(before) < SAME_LIST_MS;
      if (isRecent && isSameList(before, listing)) return;
      save(server, { at: world.now(), ...listing });
    },

    /** Stores that a server was listed now, at the request of a person. */
    confirm(server: ServerEntry): void {
      const listing = loadListing(server);
      if (listing !== undefined) save(server, { ...listing, at: world.now() });
    },

    /** Stores a failed start, unless there is an earlier tool list. */
    storeFailure(server: ServerEntry, { message, hint = '', data }: ToolError): void {
      const before = load(server);
      if (before !== undefined && !isFailedStart(before)) return;
      // It was not started if something that its entry refers to is missing: the next listing tries again at once.
      const wasStarted = data?.file === undefined;
      files.saveFailure(configurationOf(server), {
        at: wasStarted ? world.now() : world.now() - FIRST_RETRY_MS,
        count: wasStarted ? (before?.count ?? 0) + 1 : 1,
        // Errors of the network do not name the server.
        message: data?.server === undefined ? `the server ${server.name}: ${message}` : message,
        hint,
      });
    },

    /** Removes a stored failure, so that the next listing starts the server again. */
    forgetFailure: (server: ServerEntry): void => files.removeFailure(configurationOf(server)),

    /** Compares a stored tool list with the pins again: the server may have changed a tool meanwhile. */
    reviewAgain(server: ServerEntry): void {
      const listing = loadListing(server);
      if (listing?.tools.some(({ approved }) => approved !== undefined)) save(server, listing);
    },
  };
}

function summarize({ tools, faults }: Pick<Listing, 'tools' | 'faults'>): string {
  return JSON.stringify([tools.map(({ definition }) => definition), faults]);
}

function isSameList(before: Listing, now: Omit<Listing, 'at'>): boolean {
  const textOf = ({ tools, faults, version, capabilities, by }: Omit<Listing, 'at'>): string =>
    JSON.stringify([tools.map(({ approved, ...tool }) => tool), faults, version, capabilities, by]);
  return textOf(before) === textOf(now);
}

interface PendingListing {
  readonly name: string;
  readonly since: number;
  readonly done: Promise<unknown>;
  /** Whether its last start failed. */
  readonly hasFailed: boolean;
}

// Requests tool lists of servers: each server once for all callers, with a limit on the wait.
function createRequests({ configurationOf, files, refresh, onWait = () => {}, world }: ListingsOptions) {
  const pending = new Map<string, PendingListing>();
  const request = (server: ServerEntry, snapshot: Snapshot): PendingListing => {
    const configuration = configurationOf(server);
    let listing = pending.get(configuration);
    if (listing === undefined) {
      const done = refresh(server, snapshot)
        .catch((error: unknown) => world.debug(`${server.name}: ${String(error)}`))
        .finally(() => pending.delete(configuration));
      const hasFailed = files.load(configuration) !== undefined;
      listing = { name: server.name, since: world.monotonic(), done, hasFailed };
      pending.set(configuration, listing);
    }
    return listing;
  };
  // The first start of a package runner goes on, and is waited for again (UPS-112).
  const isLate = (server: ServerEntry): boolean =>
    pending.has(configurationOf(server)) && files.load(configurationOf(server)) === undefined && !runnerOf(server);
  // The next listing does not wait as long again; a call does (UPS-108).
  const storeLate = (server: ServerEntry, waitedMs: number): void =>
    files.saveFailure(configurationOf(server), {
      at: world.now() - FIRST_RETRY_MS,
      count: 1,
      message: `the server ${server.name} did not answer within ${formatDuration(waitedMs)}`,
      hint: `to wait for it: wield mcp refresh ${server.name}`,
    });
  return {
    isPending: (server: ServerEntry): boolean => pending.has(configurationOf(server)),
    /** Waits for servers, each up to `patienceMs` after its request; undefined if there is nothing to wait for. */
    request(servers: readonly ServerEntry[], snapshot: Snapshot, patienceMs: number): Promise<void> | undefined {
      const leftOf = ({ since, hasFailed }: PendingListing): number =>
        since +
        (hasFailed && Number.isFinite(patienceMs) ? Math.min(patienceMs, FAILED_MS) : patienceMs) -
        world.monotonic();
      const waits = servers.map((server) => request(server, snapshot)).filter((listing) => leftOf(listing) > 0);
      if (waits.length === 0) return undefined;
      const mostMs = Math.max(...waits.map(leftOf));
      return waitFor(waits, mostMs, onWait, () => {
        for (const server of servers) if (isLate(server)) storeLate(server, mostMs);
      });
    },
  };
}

async function waitFor(
  waits: readonly PendingListing[],
  mostMs: number,
  onWait: (servers: readonly string[]) => void,
  onLate: () => void,
): Promise<void> {
  const names = new Set(waits.map(({ name }) => name));
  onWait([...names]);
  const reported = waits.map(async ({ name, done }) => {
    await done;
    if (names.delete(name)) onWait([...names]);
  });
  await settlesWithin(Promise.all(reported), mostMs);
  if (names.size === 0) return;
  names.clear();
  onLate();
  onWait([]);
}
