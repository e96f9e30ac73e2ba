// The upstream format: the tools of servers, by what each listed when it was last asked; nothing is started to list them.

import type { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import type { Snapshot } from '../../core/snapshot.js';
import { compareText } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry, Upstream } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import { createAsking } from './asking.js';
import type { FailedStart, Listing, ListingFiles } from './listing-file.js';
import { mayBeOf, toUri } from './name.js';
import { isOf, type Offered, toOffered, withApproved } from './offered.js';
import { clash, failed, needsTrust, unavailable, untrusted } from './problems.js';
import { type Approved, type KeptTool, type ToolPlace, toTool } from './to-tool.js';

export { createListingFiles } from './listing-file.js';

export interface UpstreamFormatOptions {
  /** Names the configuration of a server. */
  readonly configurationOf: (server: ServerEntry) => string;
  /** A server in a line, for people. */
  readonly describe: (server: ServerEntry) => string;
  /** Whether it may be started by whoever only looks. */
  readonly mayStart: (server: ServerEntry, snapshot: Snapshot) => boolean;
  /** Starts a server; `keep` or `fail` is told what came of it. */
  readonly ask: (server: ServerEntry, snapshot: Snapshot) => Promise<unknown>;
  readonly files: ListingFiles;
  /** Compares tools with what was approved, and remembers those that are new. */
  readonly review: (tools: readonly Tool[]) => readonly (Approved | undefined)[];
  /** How long a listing waits for servers that it does not know yet. */
  readonly patienceMs: number;
  /** Told which servers someone waits for, each time one of them has answered; none when the wait is over. */
  readonly onWait?: (servers: readonly string[]) => void;
  readonly onChange: () => void;
  readonly world: World;
}

export interface ServerState {
  readonly server: ServerEntry;
  readonly state: 'listed' | 'failed' | 'untrusted' | 'unknown' | 'off';
  readonly tools: readonly Tool[];
  /** Tools that are others than those that were approved. */
  readonly changed: readonly string[];
  readonly listedAt?: number;
  readonly failure?: FailedStart;
}

export interface UpstreamFormat extends Upstream {
  /** Takes what a server listed. */
  keep(server: ServerEntry, listing: KeptListing): void;
  fail(server: ServerEntry, error: ToolError): void;
  /** The era of a server, where it is known and not too old. */
  verdictOf(server: ServerEntry): Json | undefined;
  /** What is known of each server that is not switched off; nothing is started to tell. */
  states(snapshot: Snapshot): readonly ServerState[];
  /** Tools were approved as they are now: those that are the same still are shown as they are. */
  accept(snapshot: Snapshot): void;
}

/** What is kept of what a server listed. */
export type KeptListing = Pick<Listing, 'faults' | 'verdict' | 'instructions'> & {
  readonly tools: readonly KeptTool[];
};

const VERDICT_MS = 24 * 3_600_000;
const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 10 * 60_000;

export function createUpstreamFormat(options: UpstreamFormatOptions): UpstreamFormat {
  const { files, configurationOf, world } = options;
  const offers = new Map<string, Offered>();
  const asking = createAsking(options);

  const placeOf = (server: ServerEntry): ToolPlace => ({
    server,
    configuration: configurationOf(server),
    target: options.describe(server),
  });

  // What cannot be what this server listed is asked for again.
  const load = (server: ServerEntry): Listing | FailedStart | undefined => {
    const configuration = configurationOf(server);
    const listing = files.load(configuration);
    if (listing === undefined || 'count' in listing) return listing;
    if (offers.get(configuration)?.listing === listing || isOf(listing, server)) return listing;
    world.debug(`what is kept of the server ${server.name} is discarded: it is not its own`);
    files.remove(configuration);
    return undefined;
  };

  const save = (server: ServerEntry, header: Omit<Listing, 'tools'>, tools: readonly KeptTool[]): void => {
    const place = placeOf(server);
    const approved = options.review(tools.map((tool) => toTool(() => tool, tool, place)));
    files.save(
      place.configuration,
      header,
      tools.map((tool, at) => withApproved(tool, approved[at])),
    );
  };

  const offerOf = (server: ServerEntry): Offered | FailedStart | undefined => {
    const configuration = configurationOf(server);
    const listing = load(server);
    if (listing === undefined || 'count' in listing) return listing;
    const known = offers.get(configuration);
    if (known?.listing === listing && known.server === server) return known;
    const offered = toOffered(listing, placeOf(server));
    offers.set(configuration, offered);
    return offered;
  };

  const listAs = (face: 'tools' | 'shown', snapshot: Snapshot) => {
    const { servers, problems } = snapshot.servers;
    const all: Problem[] = [...problems];
    const byName = new Map<string, Tool>();
    for (const server of servers) {
      const offered = offerOf(server);
      if (offered === undefined) {
        if (!options.mayStart(server, snapshot)) all.push(untrusted(server));
      } else if ('count' in offered) all.push(failed(server, offered));
      else {
        all.push(...offered.problems);
        for (const tool of offered[face]) {
          const taken = byName.get(tool.name);
          if (taken === undefined) byName.set(tool.name, tool);
          else all.push(clash(server, tool, taken));
        }
      }
    }
    return { tools: [...byName.values()].sort((a, b) => compareText(a.name, b.name)), problems: all };
  };

  const isDue = (server: ServerEntry): boolean => {
    const listing = load(server);
    if (listing === undefined) return true;
    if (!('count' in listing)) return false;
    return world.now() >= listing.at + Math.min(FIRST_RETRY_MS * 2 ** (listing.count - 1), LONGEST_RETRY_MS);
  };

  return {
    list: (snapshot) => listAs('shown', snapshot),
    find: (name, snapshot) => {
      if (!snapshot.servers.servers.some((server) => mayBeOf(name, server.name))) return undefined;
      return listAs('tools', snapshot).tools.find((tool) => tool.name === name);
    },
    at: (uri, snapshot) =>
      listAs('tools', snapshot).tools.find(({ origin }) => origin.uri === uri || decode(origin.uri!) === uri),
    why(ref, snapshot) {
      for (const server of snapshot.servers.servers.filter((one) => isAbout(ref, one))) {
        const offered = offerOf(server);
        if (offered !== undefined && 'count' in offered) return unavailable(server, offered);
        if (offered === undefined && !options.mayStart(server, snapshot)) return needsTrust(server);
      }
      return undefined;
    },
    settle(snapshot, ref) {
      const { servers } = snapshot.servers;
      const wanted = servers.filter(
        (server) => isAbout(ref, server) && options.mayStart(server, snapshot) && isDue(server),
      );
      // Whoever names a tool of it waits until it is there, and whoever looks around has less patience.
      return asking(wanted, snapshot, ref === undefined ? options.patienceMs : Number.POSITIVE_INFINITY);
    },
    keep(server, { tools, ...header }) {
      save(server, { at: world.now(), ...header }, tools);
      options.onChange();
    },
    fail(server, error) {
      const configuration = configurationOf(server);
      const before = load(server);
      // What it listed once is still the best that is known of it.
      if (before !== undefined && !('count' in before)) return;
      files.saveFailure(configuration, {
        at: world.now(),
        count: (before?.count ?? 0) + 1,
        message: error.message,
        hint: error.hint ?? '',
      });
    },
    verdictOf(server) {
      const listing = load(server);
      if (listing === undefined || 'count' in listing) return undefined;
      return world.now() < listing.at + VERDICT_MS ? listing.verdict : undefined;
    },
    states: (snapshot) =>
      snapshot.servers.servers.map((server): ServerState => {
        const offered = offerOf(server);
        const none = { server, tools: [], changed: [] };
        if (offered === undefined)
          return { ...none, state: options.mayStart(server, snapshot) ? 'unknown' : 'untrusted' };
        if ('count' in offered) return { ...none, state: 'failed', failure: offered };
        const { tools, listing } = offered;
        const names = new Set(tools.map(({ name }) => name));
        const changed = listing.tools
          .filter(({ head }) => head.changed === true && names.has(head.name))
          .map(({ head }) => head.name);
        return { server, state: 'listed', tools, changed, listedAt: listing.at };
      }),
    accept(snapshot) {
      for (const server of snapshot.servers.servers) {
        const listing = load(server);
        if (listing === undefined || 'count' in listing) continue;
        if (!listing.tools.some(({ head }) => head.changed === true)) continue;
        const { tools, ...header } = listing;
        // Judged again one by one: a server may have changed a tool once more while a person read.
        save(
          server,
          header,
          tools.map((tool) => tool.whole()),
        );
      }
      options.onChange();
    },
  };
}

function isAbout(ref: string | undefined, server: ServerEntry): boolean {
  if (ref === undefined) return true;
  return ref.startsWith('mcp:')
    ? ref.startsWith(toUri(server.name, '')) || ref.startsWith(`mcp://${server.name}/`)
    : mayBeOf(ref, server.name);
}

function decode(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
