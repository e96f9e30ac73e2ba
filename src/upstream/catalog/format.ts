// The upstream format: lists the tools of servers from their stored tool lists, without starting them.

import type { Problem } from '../../core/problem.js';
import type { Snapshot } from '../../core/snapshot.js';
import { compareText } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { type ServerEntry, toRemoteUri, type Upstream } from '../../core/upstream.js';
import { type FailedStart, isFailedStart } from './listing-file.js';
import { createListingRequests, type ListingRequestsOptions } from './listing-requests.js';
import { mayBeOf } from './name.js';
import { clash, failed, needsTrust, unavailable, untrusted } from './problems.js';
import { createServerListings, type ServerListings, type ServerListingsOptions } from './server-listings.js';

export interface UpstreamFormatOptions extends ServerListingsOptions, ListingRequestsOptions {
  /** Whether a listing may start a server. */
  readonly mayStart: (server: ServerEntry, snapshot: Snapshot) => boolean;
  /** How long a listing waits for servers that were never listed. */
  readonly patienceMs: number;
}

export interface ServerState {
  readonly server: ServerEntry;
  readonly state: 'listed' | 'failed' | 'untrusted' | 'unknown' | 'off';
  readonly tools: readonly Tool[];
  /** Names of tools that differ from their approved definition. */
  readonly changed: readonly string[];
  readonly listedAt?: number;
  readonly failure?: FailedStart;
}

export interface UpstreamFormat extends Upstream {
  readonly listings: ServerListings;
  /** Returns the state of each enabled server; starts nothing. */
  states(snapshot: Snapshot): readonly ServerState[];
}

export function createUpstreamFormat(options: UpstreamFormatOptions): UpstreamFormat {
  const { mayStart, patienceMs } = options;
  const listings = createServerListings(options);
  const request = createListingRequests(options);

  const listAs = (face: 'tools' | 'shown', snapshot: Snapshot) => {
    const { servers, problems } = snapshot.servers;
    const all: Problem[] = [...problems];
    const byName = new Map<string, Tool>();
    for (const server of servers) {
      const found = listings.toolsOf(server);
      if (found === undefined) {
        if (!mayStart(server, snapshot)) all.push(untrusted(server));
      } else if (isFailedStart(found)) all.push(failed(server, found));
      else {
        all.push(...found.problems);
        for (const tool of found[face]) {
          const taken = byName.get(tool.name);
          if (taken === undefined) byName.set(tool.name, tool);
          else all.push(clash(server, tool, taken));
        }
      }
    }
    return { tools: [...byName.values()].sort((a, b) => compareText(a.name, b.name)), problems: all };
  };

  return {
    listings,
    list: (snapshot) => listAs('shown', snapshot),
    find: (name, snapshot) => {
      // The first server wins, as in a listing; the others are not looked at.
      for (const server of snapshot.servers.servers) {
        if (!mayBeOf(name, server.name)) continue;
        const found = listings.toolsOf(server);
        const tool = found === undefined || isFailedStart(found) ? undefined : found.byName.get(name);
        if (tool !== undefined) return tool;
      }
      return undefined;
    },
    at: (uri, snapshot) =>
      listAs('tools', snapshot).tools.find(({ origin }) => origin.uri === uri || decode(origin.uri!) === uri),
    why(ref, snapshot) {
      for (const server of snapshot.servers.servers.filter((one) => isAbout(ref, one))) {
        const found = listings.toolsOf(server);
        if (found === undefined && !mayStart(server, snapshot)) return needsTrust(server);
        if (found !== undefined && isFailedStart(found)) return unavailable(server, found);
      }
      return undefined;
    },
    settle(snapshot, ref) {
      const due = snapshot.servers.servers.filter(
        (server) => isAbout(ref, server) && mayStart(server, snapshot) && listings.isDue(server),
      );
      // A call of a tool waits for its server; a listing only for a limited time.
      return request(due, snapshot, ref === undefined ? patienceMs : Number.POSITIVE_INFINITY);
    },
    states: (snapshot) =>
      snapshot.servers.servers.map((server): ServerState => {
        const found = listings.toolsOf(server);
        const none = { server, tools: [], changed: [] };
        if (found === undefined) return { ...none, state: mayStart(server, snapshot) ? 'unknown' : 'untrusted' };
        if (isFailedStart(found)) return { ...none, state: 'failed', failure: found };
        const { tools, listing } = found;
        const names = new Set(tools.map(({ name }) => name));
        const changed = listing.tools
          .filter(({ head }) => head.changed === true && names.has(head.name))
          .map(({ head }) => head.name);
        return { server, state: 'listed', tools, changed, listedAt: listing.at };
      }),
  };
}

function isAbout(ref: string | undefined, { name }: ServerEntry): boolean {
  if (ref === undefined) return true;
  return ref.startsWith('mcp:')
    ? ref.startsWith(toRemoteUri(name, '')) || ref.startsWith(`mcp://${name}/`)
    : mayBeOf(ref, name);
}

function decode(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
