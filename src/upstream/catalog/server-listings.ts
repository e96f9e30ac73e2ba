// The stored tool lists of servers, with changed tools as they were approved.

import type { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { type FailedStart, isFailedStart, type Listing, type ListingFiles } from './listing-file.js';
import { isOf, type ServerTools, toServerTools, withApproved } from './server-tools.js';
import { type ApprovedDefinition, type StoredTool, type ToolPlace, toTool } from './to-tool.js';

export interface ServerListingsOptions {
  /** Returns the hash of a server's configuration. */
  readonly configurationOf: (server: ServerEntry) => string;
  /** Returns a server as one line for display. */
  readonly describe: (server: ServerEntry) => string;
  readonly files: ListingFiles;
  /** Compares tools with their pins; returns the approved definitions of changed ones. */
  readonly approved: (tools: readonly Tool[]) => readonly (ApprovedDefinition | undefined)[];
  /** Pins the tools that have no pin yet. */
  readonly pinNew: (tools: readonly Tool[]) => Promise<void>;
  readonly world: World;
}

/** A tool list of a server, to be stored. */
export type ListingUpdate = Pick<Listing, 'faults' | 'version' | 'capabilities'> & {
  readonly tools: readonly StoredTool[];
};

export type ServerListings = ReturnType<typeof createServerListings>;

const VERSION_LIFETIME_MS = 24 * 3_600_000;
const FIRST_RETRY_MS = 5000;
const MAX_RETRY_MS = 10 * 60_000;

export function createServerListings(options: ServerListingsOptions) {
  const { configurationOf, files, world } = options;
  const known = new Map<string, ServerTools>();

  const load = (server: ServerEntry): Listing | FailedStart | undefined => {
    const configuration = configurationOf(server);
    const listing = files.load(configuration);
    if (listing === undefined || isFailedStart(listing)) return listing;
    if (known.get(configuration)?.listing === listing || isOf(listing, server)) return listing;
    world.debug(`the stored tool list of the server ${server.name} is invalid and was discarded`);
    files.remove(configuration);
    return undefined;
  };

  return {
    /** Returns the tools of a server, why its last start failed, or undefined if it was never listed. */
    toolsOf(server: ServerEntry): ServerTools | FailedStart | undefined {
      const listing = load(server);
      if (listing === undefined || isFailedStart(listing)) return listing;
      const configuration = configurationOf(server);
      const before = known.get(configuration);
      if (before?.listing === listing && before.server === server) return before;
      const tools = toServerTools(withoutStaleMarks(server, listing, options), placeOf(server, options));
      known.set(configuration, tools);
      return tools;
    },

    /** Whether a server should be started to list its tools: never listed, or failed long enough ago. */
    isDue(server: ServerEntry): boolean {
      const listing = load(server);
      if (listing === undefined) return true;
      if (!isFailedStart(listing)) return false;
      return world.now() >= listing.at + Math.min(FIRST_RETRY_MS * 2 ** (listing.count - 1), MAX_RETRY_MS);
    },

    /** Returns the protocol version of a server if it was negotiated recently. */
    knownVersionOf(server: ServerEntry): Json | undefined {
      const listing = load(server);
      if (listing === undefined || isFailedStart(listing)) return undefined;
      return world.now() < listing.at + VERSION_LIFETIME_MS ? listing.version : undefined;
    },

    async store(server: ServerEntry, { tools, ...header }: ListingUpdate): Promise<void> {
      const place = placeOf(server, options);
      await options.pinNew(tools.map((tool) => toTool(() => tool, tool, place)));
      save(server, { at: world.now(), ...header }, tools, options);
    },

    /** Stores a failed start, unless there is an earlier tool list. */
    storeFailure(server: ServerEntry, { message, hint = '', data }: ToolError): void {
      const before = load(server);
      if (before !== undefined && !isFailedStart(before)) return;
      files.saveFailure(configurationOf(server), {
        at: world.now(),
        count: (before?.count ?? 0) + 1,
        // Errors of the network do not name the server.
        message: data?.server === undefined ? `the server ${server.name}: ${message}` : message,
        hint,
      });
    },

    /** Removes a stored failure, so that the next listing starts the server again. */
    forgetFailure(server: ServerEntry): void {
      const before = load(server);
      if (before !== undefined && isFailedStart(before)) files.remove(configurationOf(server));
    },

    /** Compares a stored tool list with the pins again, one by one: the server may have changed a tool meanwhile. */
    reviewAgain(server: ServerEntry): void {
      const listing = load(server);
      if (listing === undefined || isFailedStart(listing)) return;
      const { tools, ...header } = listing;
      if (!tools.some(({ head }) => head.changed === true)) return;
      const whole = tools.map((tool) => tool.whole());
      save(server, header, whole, options);
    },
  };
}

// A process that was killed after pinning a tool left it marked as changed.
function withoutStaleMarks(server: ServerEntry, listing: Listing, options: ServerListingsOptions): Listing {
  const { tools, ...header } = listing;
  const place = placeOf(server, options);
  const marked = tools.filter(({ head }) => head.changed === true).map((tool) => tool.whole());
  const approved = options.approved(marked.map((tool) => toTool(() => tool, tool, place)));
  if (approved.every((one) => one !== undefined)) return listing;
  const whole = tools.map((tool) => tool.whole());
  save(server, header, whole, options);
  const stored = options.files.load(place.configuration);
  return stored === undefined || isFailedStart(stored) ? listing : stored;
}

function placeOf(server: ServerEntry, { configurationOf, describe }: ServerListingsOptions): ToolPlace {
  return { server, configuration: configurationOf(server), target: describe(server) };
}

function save(
  server: ServerEntry,
  header: Omit<Listing, 'tools'>,
  tools: readonly StoredTool[],
  options: ServerListingsOptions,
): void {
  const place = placeOf(server, options);
  const approved = options.approved(tools.map((tool) => toTool(() => tool, tool, place)));
  const stored = tools.map((tool, at) => withApproved(tool, approved[at]));
  options.files.save(place.configuration, header, stored);
}
