// The upstream format: lists the tools of servers from their stored tool lists, without starting them.

import type { Block } from '../../core/allowance.js';
import { ToolError } from '../../core/error.js';
import type { Upstream } from '../../core/format.js';
import { toRemoteUri } from '../../core/name.js';
import type { Problem } from '../../core/problem.js';
import { invalidConfiguration } from '../../core/rule.js';
import type { Snapshot } from '../../core/snapshot.js';
import { compareText, decodeUri } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { mayStart, type ServerEntry } from '../../core/upstream.js';
import { blocked } from '../entries/allowed.js';
import { runnerOf } from '../entries/package-runner.js';
import { type FailedStart, isFailedStart } from './listing-file.js';
import { createListings, type Listings, type ListingsOptions } from './listings.js';
import { createNameCheck, mayBeOf } from './name.js';
import type { ServerSkill } from './skills.js';
import type { ServerTools } from './tools.js';

export interface UpstreamFormatOptions extends ListingsOptions {
  /** How long a listing waits for servers that were never listed, instead of `limits.listing`. */
  readonly patienceMs?: number | undefined;
  /** Whether a process installs the package of a server now, of this wield or of another one (UPS-112). */
  readonly isInstalling: (server: ServerEntry) => boolean;
}

export interface ServerState {
  readonly server: ServerEntry;
  readonly state: 'listed' | 'starting' | 'failed' | 'untrusted' | 'unknown' | 'off' | 'blocked';
  /** The package runner that starts it, such as npx. */
  readonly runner?: string | undefined;
  readonly tools: readonly Tool[];
  /** With resources, templates and prompts. */
  readonly all?: readonly Tool[];
  /** Names of tools that differ from their approved definition. */
  readonly changed: readonly string[];
  readonly listedAt?: number;
  readonly failure?: FailedStart;
  /** Why it is blocked. */
  readonly block?: Block;
}

export interface UpstreamFormat extends Upstream {
  readonly listings: Listings;
  /** Returns what each server lists, of those that are known. */
  listed(snapshot: Snapshot): readonly { readonly server: ServerEntry; readonly found: ServerTools }[];
  /** Returns the state of each enabled server; starts nothing. */
  states(snapshot: Snapshot): readonly ServerState[];
}

const REPORT = 'report this to the author of the server';

export function createUpstreamFormat(options: UpstreamFormatOptions): UpstreamFormat {
  const listings = createListings(options);
  const isStarting = (server: ServerEntry): boolean =>
    listings.isRequested(server) || (runnerOf(server) !== undefined && options.isInstalling(server));
  const listAs = createListAs(listings, isStarting);
  const toolsOf = (server: ServerEntry): ServerTools | undefined => {
    const found = listings.toolsOf(server);
    return found === undefined || isFailedStart(found) ? undefined : found;
  };
  const listed: UpstreamFormat['listed'] = (snapshot) =>
    snapshot.servers.servers.flatMap((server) => {
      const found = toolsOf(server);
      return found === undefined ? [] : [{ server, found }];
    });

  // Of two skills with one name, that of the first server.
  const skillsOf = ({ servers }: Pick<Snapshot['servers'], 'servers'>) => {
    const byName = new Map<string, { readonly server: ServerEntry; readonly skill: ServerSkill }>();
    for (const server of servers) {
      const isOfAnother = createNameCheck(server, servers);
      for (const skill of toolsOf(server)?.skills.values() ?? []) {
        const { name } = skill.tool;
        if (!byName.has(name) && !isOfAnother(name)) byName.set(name, { server, skill });
      }
    }
    return [...byName.values()];
  };

  return {
    listings,
    listed,
    list(snapshot, isTaken = () => false) {
      const { tools, problems } = listAs('shown', snapshot, isTaken);
      const names = new Set(tools.map(({ name }) => name));
      // A skill gives way to any tool, and can still be read with `read_skill`.
      const skills = skillsOf(snapshot.servers).map(({ skill }) => skill.shown);
      const others = skills.filter(({ name }) => !names.has(name) && !isTaken(name));
      return { tools: [...tools, ...others], problems };
    },
    skills: (snapshot) =>
      skillsOf(snapshot.servers).map(({ server, skill: { shown, files, directory } }) => ({
        name: shown.name,
        description: shown.description,
        server: server.name,
        tool: shown,
        directory,
        files,
        isStartable: mayStart(server, snapshot),
      })),
    findOriginal(name, { servers: { servers } }) {
      for (const server of servers.filter(({ prefix }) => prefix === false)) {
        const tool = toolsOf(server)?.byName.get(name);
        if (tool !== undefined && !createNameCheck(server, servers)(name)) return tool;
      }
      return skillsOf({ servers }).find(({ skill }) => skill.tool.name === name)?.skill.tool;
    },
    find(name, { servers: { servers } }) {
      // The first server wins, as in a listing; the others are not looked at.
      for (const server of servers) {
        if (!mayBeOf(name, server.name) || createNameCheck(server, servers)(name)) continue;
        const found = toolsOf(server);
        const tool = found?.byName.get(name);
        if (tool !== undefined) return tool;
        const original = found?.tools.find(({ origin }) => origin.otherName === name);
        if (original !== undefined) return found!.renamed.get(original);
      }
      return undefined;
    },
    at: (uri, snapshot) =>
      listAs('tools', snapshot).tools.find(({ origin }) => origin.uri === uri || decodeUri(origin.uri!) === uri),
    why(ref, snapshot) {
      const blockedOne = snapshot.servers.blocked.find(({ server }) => ref !== undefined && isAbout(ref, server));
      for (const server of snapshot.servers.servers.filter((one) => isAbout(ref, one))) {
        const found = listings.toolsOf(server);
        const { fault } = snapshot.policy;
        if (found === undefined && fault !== undefined) return invalidConfiguration(fault);
        if (found === undefined && !mayStart(server, snapshot)) return needsTrust(server);
        // Not listed although it was waited for: the process that started it was killed.
        if (found === undefined || isStarting(server))
          return unavailable(server, describeStarting(server, runnerOf(server)));
        if (found !== undefined && isFailedStart(found)) return unavailable(server, found);
      }
      return blockedOne && blocked(blockedOne.server, blockedOne.block);
    },
    settle(snapshot, ref) {
      const due = snapshot.servers.servers.filter(
        (server) => isAbout(ref, server) && mayStart(server, snapshot) && listings.isDue(server),
      );
      // A call of a tool waits for its server; a listing only for a limited time.
      const { patienceMs = snapshot.settings.limits.listingMs } = options;
      return listings.request(due, snapshot, ref === undefined ? patienceMs : Number.POSITIVE_INFINITY);
    },
    states: (snapshot) =>
      snapshot.servers.servers.map((server) => {
        const state = toState(server, listings.toolsOf(server), mayStart(server, snapshot));
        const isWaiting = state.state === 'unknown' || state.state === 'failed';
        return isWaiting && isStarting(server) ? { ...state, state: 'starting', runner: runnerOf(server) } : state;
      }),
  };
}

// Lists the tools of all servers by name, as they are or as they were approved, and what is wrong with them.
function createListAs(listings: Listings, isStarting: (server: ServerEntry) => boolean) {
  return (form: 'tools' | 'shown', snapshot: Snapshot, isTaken: (name: string) => boolean = () => false) => {
    const { servers, problems } = snapshot.servers;
    const all: Problem[] = [...problems];
    const byName = new Map<string, Tool>();
    for (const server of servers) {
      const report = (severity: Problem['severity'], message: string, hint: string): unknown =>
        all.push({
          path: server.position.file,
          pointer: server.position.pointer ?? undefined,
          severity,
          message,
          hint,
        });
      const found = listings.toolsOf(server);
      if (found === undefined) {
        const { message, hint } = mayStart(server, snapshot)
          ? describeStarting(server, runnerOf(server))
          : needsTrust(server);
        if (!mayStart(server, snapshot) || isStarting(server)) report('warning', message, hint!);
        continue;
      }
      if (isFailedStart(found)) {
        report('error', found.message, found.hint);
        continue;
      }
      for (const { severity, message } of found.listing.faults)
        report(severity, `the server ${server.name}: ${message}`, REPORT);
      const isOfAnother = createNameCheck(server, servers);
      for (const given of found[form]) {
        // A tool that keeps its own name gives way to any other.
        const hasOther = byName.has(given.name) || isTaken(given.name) || isOfAnother(given.name);
        const tool = (hasOther && found.renamed.get(given)) || given;
        const taken = byName.get(tool.name);
        const { name, origin } = tool;
        if (hasOther && isOfAnother(name)) {
          const why = `its name ${name} begins like those of another server`;
          report('error', `${origin.uri} is not offered: ${why}`, 'rename one of the servers');
        } else if (taken === undefined) byName.set(name, tool);
        else {
          const hint = taken.origin.server === server.name ? REPORT : 'rename one of the servers';
          report('error', `${origin.uri} is not offered: its name ${name} is taken by ${taken.origin.uri}`, hint);
        }
      }
    }
    return { tools: [...byName.values()].sort((a, b) => compareText(a.name, b.name)), problems: all };
  };
}

function toState(server: ServerEntry, found: ServerTools | FailedStart | undefined, isStartable: boolean): ServerState {
  const none = { server, tools: [], changed: [] };
  if (found === undefined) return { ...none, state: isStartable ? 'unknown' : 'untrusted' };
  if (isFailedStart(found)) return { ...none, state: 'failed', failure: found };
  const { tools, all, changed, listing } = found;
  return { server, state: 'listed', tools, all, changed, listedAt: listing.at };
}

/** The error for a tool of a server that is not started: its workspace is not trusted, or nobody accepted it. */
export function needsTrust({ name, owner }: ServerEntry): ToolError {
  const [why, hint] =
    owner === 'package'
      ? ['you have not accepted it yet', `wield mcp accept ${name} shows what it runs and asks`]
      : ['the workspace is not trusted', 'wield mcp shows what it runs; then run: wield trust'];
  return new ToolError('needs_trust', `the server ${name} is not started: ${why}`, { hint, data: { server: name } });
}

/** Describes a server that has not answered yet. */
export function describeStarting(
  { name }: ServerEntry,
  runner: string | undefined,
): { readonly message: string; readonly hint: string } {
  return runner === undefined
    ? { message: `the server ${name} has not answered yet`, hint: `to wait for it: wield mcp refresh ${name}` }
    : {
        message: `the server ${name} is still starting: ${runner} installs it in the background`,
        hint: 'wield mcp shows when it is ready',
      };
}

// The error for a tool of a server that is not ready, or whose last start failed.
function unavailable({ name }: ServerEntry, { message, hint }: Pick<FailedStart, 'message' | 'hint'>): ToolError {
  return new ToolError('unavailable', message, { hint, data: { server: name } });
}

function isAbout(ref: string | undefined, { name, prefix }: ServerEntry): boolean {
  if (ref === undefined || (prefix === false && !ref.startsWith('mcp:'))) return true;
  return ref.startsWith('mcp:')
    ? ref.startsWith(toRemoteUri(name, '')) || ref.startsWith(`mcp://${name}/`)
    : mayBeOf(ref, name);
}
