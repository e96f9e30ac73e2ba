// The upstream format: lists the tools of servers from their stored tool lists, without starting them.

import type { Upstream } from '../../core/format.js';
import { toRemoteUri } from '../../core/name.js';
import type { Problem } from '../../core/problem.js';
import type { Snapshot } from '../../core/snapshot.js';
import { compareText } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { type FailedStart, isFailedStart } from './listing-file.js';
import { createListingRequests, type ListingRequestsOptions } from './listing-requests.js';
import { createNameCheck, mayBeOf } from './name.js';
import { clash, failed, misnamed, needsTrust, unavailable, untrusted } from './problems.js';
import { createServerListings, type ServerListings, type ServerListingsOptions } from './server-listings.js';
import type { ServerTools } from './server-tools.js';

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
  /** With resources, templates and prompts. */
  readonly all?: readonly Tool[];
  /** Names of tools that differ from their approved definition. */
  readonly changed: readonly string[];
  readonly listedAt?: number;
  readonly failure?: FailedStart;
}

export interface UpstreamFormat extends Upstream {
  readonly listings: ServerListings;
  /** Returns what each server lists, of those that are known. */
  listed(snapshot: Snapshot): readonly { readonly server: ServerEntry; readonly found: ServerTools }[];
  /** Returns the state of each enabled server; starts nothing. */
  states(snapshot: Snapshot): readonly ServerState[];
}

export function createUpstreamFormat(options: UpstreamFormatOptions): UpstreamFormat {
  const { mayStart, patienceMs } = options;
  const listings = createServerListings(options);
  const request = createListingRequests(options);

  const listAs = createListAs(listings, mayStart);
  const listed = (snapshot: Snapshot) =>
    snapshot.servers.servers.flatMap((server) => {
      const found = listings.toolsOf(server);
      return found === undefined || isFailedStart(found) ? [] : [{ server, found }];
    });
  const keepingNames = (snapshot: Snapshot) => listed(snapshot).filter(({ server }) => server.prefix === false);

  return {
    listings,
    listed,
    list: (snapshot, isTaken) => listAs('shown', snapshot, isTaken),
    findOriginal: (name, snapshot) => {
      for (const { server, found } of keepingNames(snapshot)) {
        const tool = found.byName.get(name);
        if (tool !== undefined && !createNameCheck(server, snapshot.servers.servers)(name)) return tool;
      }
      return undefined;
    },
    find: (name, snapshot) => {
      // The first server wins, as in a listing; the others are not looked at.
      const { servers } = snapshot.servers;
      for (const server of servers) {
        if (!mayBeOf(name, server.name) || createNameCheck(server, servers)(name)) continue;
        const found = listings.toolsOf(server);
        const tool = found === undefined || isFailedStart(found) ? undefined : found.byName.get(name);
        if (tool !== undefined) return tool;
        const kept = server.prefix === false && found !== undefined && !isFailedStart(found) ? found.tools : [];
        const other = kept.find(({ origin }) => origin.otherName === name);
        if (other !== undefined) return withOtherName(other);
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
      snapshot.servers.servers.map((server) => toState(server, listings.toolsOf(server), mayStart(server, snapshot))),
  };
}

/** Returns the tools of all servers by name, and what is wrong with them. */
function createListAs(listings: ServerListings, mayStart: UpstreamFormatOptions['mayStart']) {
  return (face: 'tools' | 'shown', snapshot: Snapshot, isTaken: (name: string) => boolean = () => false) => {
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
        const isOfAnother = createNameCheck(server, servers);
        for (const given of found[face]) {
          // A tool that keeps its own name gives way to any other.
          const hasOther = byName.has(given.name) || isTaken(given.name) || isOfAnother(given.name);
          const tool = hasOther ? withOtherName(given) : given;
          const taken = byName.get(tool.name);
          if (hasOther && isOfAnother(tool.name)) all.push(misnamed(server, tool));
          else if (taken === undefined) byName.set(tool.name, tool);
          else all.push(clash(server, tool, taken));
        }
      }
    }
    return { tools: [...byName.values()].sort((a, b) => compareText(a.name, b.name)), problems: all };
  };
}

function toState(server: ServerEntry, found: ServerTools | FailedStart | undefined, mayStart: boolean): ServerState {
  const none = { server, tools: [], changed: [] };
  if (found === undefined) return { ...none, state: mayStart ? 'unknown' : 'untrusted' };
  if (isFailedStart(found)) return { ...none, state: 'failed', failure: found };
  const { tools, all, listing } = found;
  const names = new Set(all.map(({ name }) => name));
  const changed = listing.tools
    .filter(({ head }) => head.changed === true && names.has(head.name))
    .map(({ head }) => head.name);
  return { server, state: 'listed', tools, all, changed, listedAt: listing.at };
}

const renamed = new WeakMap<Tool, Tool>();

// Returns the same object for the same tool, so that an unchanged listing is recognised.
function withOtherName(tool: Tool): Tool {
  const { otherName } = tool.origin;
  if (otherName === undefined) return tool;
  let other = renamed.get(tool);
  if (other === undefined) {
    const fields = Object.getOwnPropertyDescriptors(tool);
    const origin = { ...tool.origin, otherName: tool.name };
    other = Object.defineProperties({}, { ...fields, name: { ...fields.name, value: otherName } }) as Tool;
    other = Object.defineProperties(other, { origin: { ...fields.origin, value: origin } });
    renamed.set(tool, other);
  }
  return other;
}

function isAbout(ref: string | undefined, { name, prefix }: ServerEntry): boolean {
  if (ref === undefined || (prefix === false && !ref.startsWith('mcp:'))) return true;
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
