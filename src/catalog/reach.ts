// Lookup of tools by name, and which of them a caller may find.

import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { Upstream } from '../core/upstream.js';
import type { Audience, Listing } from './listing.js';
import type { Views } from './views.js';

export interface FindOptions {
  readonly snapshot: Snapshot;
  /** Finds listed tools only, by any reference: for models. */
  readonly visibleOnly?: boolean;
  /** Finds hidden tools too, but not built-in tools that are not offered. */
  readonly offeredOnly?: boolean;
  /** Built-in tools, or groups of them, that are visible as well. */
  readonly offer?: readonly string[];
  /** Whether a hint may name a tool (POL-8). */
  readonly mayName?: (tool: Tool) => boolean;
  /** Does not find tools that may not be named. */
  readonly namedOnly?: boolean;
}

export interface ReachOptions {
  readonly registered: ReadonlyMap<string, Tool>;
  /** All built-in tools. */
  readonly builtin: readonly Tool[];
  /** The built-in tools that give way to others. */
  readonly yielding: readonly Tool[];
  readonly offered: (tool: Tool, skills: readonly Skill[], snapshot: Snapshot) => Audience;
  readonly upstream?: Upstream;
  readonly list: (snapshot: Snapshot) => Listing;
  readonly views: Pick<Views, 'inOrder'>;
  /** Removes reserved tags (RES-31). */
  readonly clean: (tool: Tool) => Tool;
}

export interface Reach {
  /** Returns the tool of a name, or the problem of the file that has the name. */
  lookUp(name: string, snapshot: Snapshot): Tool | Problem | undefined;
  /** Whether a tool found by name is visible under these options. */
  isInReach(tool: Tool, options: FindOptions): boolean;
  /** Whether a tool found by path or URI is visible under these options. */
  mayReach(tool: Tool, options: FindOptions): boolean;
}

/** Whether a list of names and groups contains a built-in tool. */
export function isRequested({ name, traits }: Tool, offer: readonly string[]): boolean {
  return offer.some((entry) => entry === name || entry === traits.group);
}

/** Whether any upstream server is enabled. */
export function hasServers({ servers }: Snapshot): boolean {
  return servers.servers.length > 0;
}

export function createReach(options: ReachOptions): Reach {
  const { registered, builtin, yielding, offered, upstream, list, views, clean } = options;

  /** RES-3, RES-42: registered, built-in, servers, search path, scripts; the first match wins. */
  const lookUp = (name: string, snapshot: Snapshot): Tool | Problem | undefined => {
    const given = registered.get(name);
    if (given) return clean(given);
    const own = builtin.find((tool) => tool.name === name);
    if (own && !yielding.includes(own)) return own;
    const remote = hasServers(snapshot) ? upstream?.find(name, snapshot) : undefined;
    if (remote !== undefined) return clean(remote);
    let problem: Problem | undefined;
    for (const directory of views.inOrder(snapshot.places)) {
      const found = directory.find(name, snapshot);
      if (found === undefined) continue;
      if (!('severity' in found)) return clean(found);
      // A broken file does not hide a tool of the same name further down the path.
      problem ??= found;
    }
    return own ?? problem;
  };

  const isOffered = (tool: Tool, { snapshot, offer = [] }: FindOptions): boolean =>
    !builtin.includes(tool) ||
    isRequested(tool, offer) ||
    offered(tool, list(snapshot).skills, snapshot) !== 'none';

  const isInReach = (tool: Tool, reach: FindOptions): boolean =>
    !(reach.visibleOnly && tool.traits.hidden) &&
    !((reach.visibleOnly || reach.offeredOnly) && !isOffered(tool, reach)) &&
    !(reach.namedOnly && reach.mayName?.(tool) === false);

  return {
    lookUp,
    isInReach,
    // For a model, a path or URI only finds the tool that its name finds: otherwise a rule about the name would apply to
    // another file (decision 0018).
    mayReach(tool, reach) {
      if (!reach.visibleOnly) return isInReach(tool, reach);
      const winner = lookUp(tool.name, reach.snapshot);
      return (
        winner !== undefined &&
        !('severity' in winner) &&
        winner.origin.uri === tool.origin.uri &&
        winner.origin.directory === tool.origin.directory &&
        isInReach(winner, reach)
      );
    },
  };
}
