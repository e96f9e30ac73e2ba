// Finds the tool of a reference: a name, a path or a URI (RES-1, RES-2), if the caller may find it.

import type { Upstream } from '../core/format.js';
import { isToolName, otherName, parseRef, type UriRef } from '../core/name.js';
import type { Problem } from '../core/problem.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import {
  createPathFinder,
  type FindOptions,
  type FoundTool,
  type PathFinderOptions,
  pickTool,
  toFilePath,
} from './at-path.js';
import type { Views } from './directory.js';
import type { Audience, Listed, Listing } from './listing.js';
import { findBrokenFile, findOwnFile, invalidName, notFound, nothingAt, notUsable } from './refusals.js';

export interface FinderOptions extends PathFinderOptions {
  readonly registered: ReadonlyMap<string, Tool>;
  /** All built-in tools. */
  readonly builtin: readonly Tool[];
  /** The built-in tools that give way to others. */
  readonly yielding: readonly Tool[];
  readonly offered: (tool: Tool, listed: Listed, snapshot: Snapshot) => Audience;
  /** Tools of upstream servers; they precede tools on disk (RES-42). */
  readonly upstream?: Upstream;
  readonly list: (snapshot: Snapshot) => Listing;
  readonly views: Pick<Views, 'of' | 'inOrder'>;
}

/** What a hint may name, and the skills that decide on it. */
type Near = Pick<Listing, 'tools' | 'problems' | 'skills'>;

/**
 * Returns the tool of a reference, without following delegates. Throws `not_found`, `ambiguous` or `invalid_ref`; `near`
 * returns the tools and problems that a hint may name, none while they are being listed.
 */
export type Seek = (ref: string, options: FindOptions, near?: () => Near) => Tool;

export function createFinder(options: FinderOptions): Seek {
  const { registered, upstream, list, clean, views } = options;
  const reach = createReach(options);
  const paths = createPathFinder(options, reach.mayReach);

  const findNamed = (name: string, within: FindOptions): Tool | undefined => {
    const found = registered.has(name) || isToolName(name) ? reach.lookUp(name, within.snapshot) : undefined;
    if (found === undefined) return undefined;
    if ('severity' in found) throw notUsable(name, found, within);
    return reach.isInReach(found, within) ? found : undefined;
  };

  // Tools that are part of another file have a URI made of their name, which works for shadowed tools too.
  const findInline = (uri: string, within: FindOptions): Tool | undefined => {
    const name = uri.replace(/^\w+:\/\//, '');
    if (!isToolName(name)) return undefined;
    for (const directory of views.inOrder(within.snapshot.places)) {
      const found = directory.find(name, within.snapshot);
      if (found === undefined || 'severity' in found || found.origin.uri !== uri) continue;
      const tool = clean(found);
      if (reach.mayReach(tool, within)) return tool;
    }
    return undefined;
  };

  const findRemote = (uri: string, within: FindOptions): Tool | undefined => {
    const remote = upstream?.at(uri, within.snapshot);
    return remote !== undefined && reach.mayReach(clean(remote), within) ? clean(remote) : undefined;
  };

  // Throws why the server of a reference is not known. If it is, another process may have listed it since `find` (UPS-127).
  const findListed = (ref: string, within: FindOptions, find: typeof findNamed): Tool | undefined => {
    const why = upstream?.why(ref, within.snapshot);
    if (why !== undefined) throw why;
    return upstream && find(ref, within);
  };

  const findByUri = (text: string, { uri, scheme, fragment }: UriRef, within: FindOptions): Tool => {
    const found = [...registered.values()]
      .filter(({ origin }) => origin.uri === uri || origin.uri === text)
      .map((tool): FoundTool => ({ tool: clean(tool), yields: false }))
      .filter(({ tool }) => reach.isInReach(tool, within));
    const exact = found.filter(({ tool }) => tool.origin.uri === text);
    const tool = exact.length === 1 ? exact[0]!.tool : pickTool(text, found, fragment);
    if (tool !== undefined) return tool;
    const remote = scheme === 'mcp' ? findRemote(text, within) : undefined;
    if (remote !== undefined) return remote;
    if (scheme === 'file') return paths.find(text, toFilePath(uri), fragment, within);
    const other = (fragment === undefined && findInline(uri, within)) || findListed(text, within, findRemote);
    if (other === undefined) throw nothingAt(text, []);
    return other;
  };

  return (text, within, near = () => list(within.snapshot)) => {
    const ref = parseRef(text);
    if (ref.kind === 'path') return paths.find(text, ref.path, ref.fragment, within);
    if (ref.kind === 'uri') return findByUri(text, ref, within);
    const { name, fragment } = ref;
    const named = fragment === undefined ? findNamed(name, within) : undefined;
    if (named !== undefined) return named;
    // RES-1: a name that no tool has is tried as a file of the workdir.
    const { tools, problem } = paths.read(name, within);
    const tool = pickTool(text, tools, fragment);
    if (tool !== undefined) return tool;
    // A file whose name is not a tool name was meant as a path.
    if (problem !== undefined && !isToolName(name)) throw notUsable(name, problem, within);
    const { snapshot, mayName = () => true, offeredOnly: isModel, shownAs = name } = within;
    const { places, workdir } = snapshot;
    if (fragment !== undefined || !isToolName(name)) {
      const broken = isModel ? undefined : findBrokenFile(name, near().problems);
      throw broken === undefined ? invalidName(text) : notUsable(name, broken, within);
    }
    const listed = findListed(name, within, findNamed);
    if (listed !== undefined) return listed;
    // The text of broken files is not sent to models.
    const listing = near();
    const own = isModel ? undefined : findOwnFile(name, listing.problems, places);
    if (own !== undefined) throw notUsable(name, own, within);
    const searched = isModel ? undefined : { places, workdir, problems: listing.problems };
    const nameable = listing.tools.filter((candidate) => mayName(candidate, listing.skills));
    throw notFound(shownAs, nameable, searched);
  };
}

/** Whether a list of names and groups contains a built-in tool. */
export function isRequested({ name, traits }: Tool, offer: readonly string[]): boolean {
  return offer.some((entry) => entry === name || entry === traits.group);
}

/**
 * Whether a reference can be that of an upstream tool. Their names are `<server>_<tool>` (UPS-2), so other names need
 * not read the servers.
 */
export function mayBeRemote(ref: string | undefined): boolean {
  // Programs may pass anything.
  return typeof ref !== 'string' || ref.includes('_') || ref.startsWith('mcp:');
}

/** Whether tools of a server may have any name. */
export function mayKeepName({ servers }: Snapshot): boolean {
  return servers.servers.some(({ prefix }) => prefix === false);
}

/** Whether any upstream server is enabled. */
export function hasServers({ servers }: Snapshot): boolean {
  return servers.servers.length > 0;
}

function createReach(options: FinderOptions) {
  const { registered, builtin, yielding, offered, upstream, list, views, clean } = options;

  /** RES-3, RES-42: registered, built-in, servers, search path, scripts; the first match wins. */
  const lookUp = (name: string, snapshot: Snapshot): Tool | Problem | undefined => {
    const given = registered.get(name);
    if (given) return clean(given);
    const own = builtin.find((tool) => tool.name === name);
    if (own && !yielding.includes(own)) return own;
    const remote = mayBeRemote(name) && hasServers(snapshot) ? upstream?.find(name, snapshot) : undefined;
    if (remote !== undefined) return clean(remote);
    let problem: Problem | undefined;
    for (const directory of views.inOrder(snapshot.places)) {
      const found = directory.find(name, snapshot);
      if (found === undefined) continue;
      if (!('severity' in found)) return clean(found);
      // A broken file does not hide a tool of the same name further down the path.
      problem ??= found;
    }
    if (own === undefined && problem === undefined && hasServers(snapshot)) {
      const original = upstream?.findOriginal(name, snapshot);
      if (original !== undefined) return clean(original);
    }
    return own ?? problem ?? byOtherName(name);
  };

  const byOtherName = (name: string): Tool | undefined => {
    const other = otherName(name);
    return other === undefined ? undefined : builtin.find((tool) => tool.name === other);
  };

  const isOffered = (tool: Tool, { snapshot, offer = [] }: FindOptions): boolean =>
    !builtin.includes(tool) || isRequested(tool, offer) || offered(tool, list(snapshot), snapshot) !== 'none';

  const isInReach = (tool: Tool, reach: FindOptions): boolean =>
    !(reach.visibleOnly && tool.traits.hidden && !(reach.apps && tool.traits.app)) &&
    !((reach.visibleOnly || reach.offeredOnly) && !isOffered(tool, reach)) &&
    !(reach.namedOnly && reach.mayName?.(tool, list(reach.snapshot).skills) === false);

  return {
    lookUp,
    isInReach,
    // Whether a tool found by path or URI is visible.
    // For a model, a path or URI only finds the tool that its name finds: otherwise a rule about the name would apply to
    // another file (decision 0018).
    mayReach(tool: Tool, reach: FindOptions): boolean {
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
