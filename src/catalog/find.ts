// Finds the tool of a reference: by its name, at a path or by a URI, within what the asker may reach (RES-1, RES-2).

import type { Format, Place } from '../core/format.js';
import { isToolName } from '../core/name.js';
import type { Problem } from '../core/problem.js';
import { parseRef, type UriRef } from '../core/ref.js';
import type { Tool } from '../core/tool.js';
import { isWithin } from '../files/within.js';
import { locate, toFilePath } from './at-path.js';
import type { CatalogOptions, Listing } from './catalog.js';
import type { Directory } from './directory.js';
import { ambiguous, invalidName, notFound, nothingAt, notUsable } from './refusals.js';

export interface FindOptions {
  /** Only what is listed is found, by whatever reference: for a model. */
  readonly visibleOnly?: boolean;
  /** Only what could be listed: hidden tools too, and no built-in tool that is not offered. */
  readonly offeredOnly?: boolean;
  /** Built-in tools that are visible too, by name or group. */
  readonly offer?: readonly string[];
  /** Whether a tool may be named in a hint (POL-8). */
  readonly mayName?: (tool: Tool) => boolean;
  /** What may not be named is not found either. */
  readonly namedOnly?: boolean;
}

/** What finding needs of the catalog around it. */
export interface FinderOptions
  extends Pick<
    CatalogOptions,
    'registered' | 'builtin' | 'offered' | 'places' | 'formats' | 'upstream' | 'toAbsolute' | 'ownerOf'
  > {
  /** Those of the built-in tools that give way to others. */
  readonly yielding: readonly Tool[];
  readonly list: () => Listing;
  /** Directories of the search path, those that yield last. */
  readonly inOrder: () => readonly Directory[];
  readonly viewOf: (place: Place, format: Format) => Directory;
  /** The tool without what it must not claim (RES-31). */
  readonly asClaimed: (tool: Tool) => Tool;
}

export interface Finder {
  /**
   * The tool of a reference as its definition stands. Throws `not_found`, `ambiguous` or `invalid_ref`; `near` are
   * the tools that a hint may choose from.
   */
  seek(text: string, reach: FindOptions, near?: () => readonly Tool[]): Tool;
}

/** Whether a built-in tool is among those that are asked for, by name or group. */
export function isAsked({ name, traits }: Tool, offer: readonly string[]): boolean {
  return offer.some((entry) => entry === name || entry === traits.group);
}

/** A tool at a path; one that yields gives way to the others there. */
interface Found {
  readonly tool: Tool;
  readonly yields: boolean;
}

export function createFinder(options: FinderOptions): Finder {
  const { registered, builtin, offered, places, formats, upstream, toAbsolute, ownerOf } = options;
  const { list, inOrder, viewOf, asClaimed, yielding } = options;

  /** RES-3, RES-42: programmatic, built-in, servers, search path, scripts; the first hit wins. */
  const look = (name: string): Tool | Problem | undefined => {
    const given = registered.get(name);
    if (given) return asClaimed(given);
    const own = builtin.find((tool) => tool.name === name);
    if (own && !yielding.includes(own)) return own;
    const remote = upstream?.find(name);
    if (remote !== undefined) return asClaimed(remote);
    let problem: Problem | undefined;
    for (const directory of inOrder()) {
      const found = directory.find(name);
      if (found === undefined) continue;
      if (!('severity' in found)) return asClaimed(found);
      // A file that is no tool keeps no other from being one, in a listing as here.
      problem ??= found;
    }
    return own ?? problem;
  };

  const isOffered = (tool: Tool, offer: readonly string[] = []): boolean =>
    !builtin.includes(tool) || isAsked(tool, offer) || offered(tool, list().skills) !== 'none';

  const isInReach = (tool: Tool, reach: FindOptions): boolean =>
    !(reach.visibleOnly && tool.traits.hidden) &&
    !((reach.visibleOnly || reach.offeredOnly) && !isOffered(tool, reach.offer)) &&
    !(reach.namedOnly && reach.mayName?.(tool) === false);

  // A path or URI is another way to write a name that a model is offered, and no way to a file that it is not: else
  // a rule that names a tool would be about another file of that name (decision 0018).
  const mayReach = (tool: Tool, reach: FindOptions): boolean => {
    if (!reach.visibleOnly) return isInReach(tool, reach);
    const winner = look(tool.name);
    return (
      winner !== undefined &&
      !('severity' in winner) &&
      winner.origin.uri === tool.origin.uri &&
      winner.origin.directory === tool.origin.directory &&
      isInReach(winner, reach)
    );
  };

  /** The entry of a format at a path. What is on the search path keeps its place there, what is not has none. */
  const viewAt = (path: string, format: Format, visibleOnly: boolean) => {
    const located = locate(path, format);
    if (located === undefined) return undefined;
    const { directory, entry } = located;
    const known = places().find(
      (place) => place.directory === directory && format.places.includes(place.kind),
    );
    if (visibleOnly) return known && viewOf(known, format).at(entry);
    const owner = known?.owner ?? ownerOf(directory);
    return viewOf({ directory, owner, kind: known?.kind ?? format.places[0]! }, format).at(entry);
  };

  const readAt = (
    path: string,
    reach: FindOptions,
  ): { tools: readonly Found[]; problem?: Problem | undefined } => {
    const { visibleOnly = false } = reach;
    // Nothing else is even looked at for a model.
    if (visibleOnly && !places().some((place) => isWithin(place.directory, path))) return { tools: [] };
    const readings = formats.flatMap((format) => {
      const reading = viewAt(path, format, visibleOnly);
      return reading === undefined ? [] : [{ reading, yields: format.yields === true }];
    });
    const tools = readings.flatMap(({ reading, yields }) =>
      reading.tools.map((tool): Found => ({ tool: asClaimed(tool), yields })),
    );
    return {
      tools: tools.filter(({ tool }) => mayReach(tool, reach)),
      problem: visibleOnly
        ? undefined
        : readings.flatMap(({ reading }) => reading.problems).find(({ severity }) => severity === 'error'),
    };
  };

  /** The one tool of several that a fragment picks; undefined where there is none. */
  const pick = (ref: string, found: readonly Found[], fragment: string | undefined): Tool | undefined => {
    const names = (some: readonly Found[]): string[] => [...new Set(some.map(({ tool }) => tool.name))];
    if (fragment !== undefined) {
      const picked = found.find(({ tool }) => tool.name === fragment);
      if (picked === undefined && found.length > 0) throw nothingAt(ref, names(found));
      return picked?.tool;
    }
    // A skill gives way to the tools of its directory, here as by name.
    const first = found.filter(({ yields }) => !yields);
    const wanted = first.length > 0 ? first : found;
    if (names(wanted).length > 1) throw ambiguous(ref, names(wanted));
    return wanted[0]?.tool;
  };

  const findNamed = (name: string, reach: FindOptions): Tool | undefined => {
    const found = registered.has(name) || isToolName(name) ? look(name) : undefined;
    if (found === undefined) return undefined;
    if ('severity' in found) throw notUsable(name, found);
    return isInReach(found, reach) ? found : undefined;
  };

  const findAt = (ref: string, path: string, fragment: string | undefined, reach: FindOptions): Tool => {
    const absolute = toAbsolute(path);
    const { tools, problem } = absolute === undefined ? { tools: [] } : readAt(absolute, reach);
    const tool = pick(ref, tools, fragment);
    if (tool !== undefined) return tool;
    throw problem === undefined ? nothingAt(ref, []) : notUsable(path, problem);
  };

  // What stands inside something else is known by a URI of its name, also where another tool has that name.
  const findInside = (uri: string, reach: FindOptions): Tool | undefined => {
    const name = uri.replace(/^\w+:\/\//, '');
    if (!isToolName(name)) return undefined;
    for (const directory of inOrder()) {
      const found = directory.find(name);
      if (found === undefined || 'severity' in found || found.origin.uri !== uri) continue;
      const tool = asClaimed(found);
      if (mayReach(tool, reach)) return tool;
    }
    return undefined;
  };

  const findByUri = (text: string, { uri, scheme, fragment }: UriRef, reach: FindOptions): Tool => {
    const seen = [...registered.values()]
      .filter(({ origin }) => origin.uri === uri || origin.uri === text)
      .map((tool): Found => ({ tool: asClaimed(tool), yields: false }))
      .filter(({ tool }) => isInReach(tool, reach));
    const whole = seen.filter(({ tool }) => tool.origin.uri === text);
    const tool = whole.length === 1 ? whole[0]!.tool : pick(text, seen, fragment);
    if (tool !== undefined) return tool;
    const remote = scheme === 'mcp' ? upstream?.at(text) : undefined;
    if (remote !== undefined && mayReach(asClaimed(remote), reach)) return asClaimed(remote);
    if (scheme === 'file') return findAt(text, toFilePath(uri), fragment, reach);
    const inside = fragment === undefined ? findInside(uri, reach) : undefined;
    if (inside === undefined) throw upstream?.why(text) ?? nothingAt(text, []);
    return inside;
  };

  const seek: Finder['seek'] = (text, reach, near = () => list().tools) => {
    const ref = parseRef(text);
    if (ref.kind === 'path') return findAt(text, ref.path, ref.fragment, reach);
    if (ref.kind === 'uri') return findByUri(text, ref, reach);
    const { name, fragment } = ref;
    const named = fragment === undefined ? findNamed(name, reach) : undefined;
    if (named !== undefined) return named;
    // RES-1: in no catalog, so it is tried as a file of the workdir.
    const absolute = toAbsolute(name);
    const tools = absolute === undefined ? [] : readAt(absolute, reach).tools;
    const tool = pick(text, tools, fragment);
    if (tool !== undefined) return tool;
    const { mayName = () => true } = reach;
    throw fragment === undefined && isToolName(name)
      ? (upstream?.why(name) ?? notFound(name, near().filter(mayName), places()))
      : invalidName(text);
  };

  return { seek };
}
