// The catalog: every tool there is, in one order, each name once; what is listed is what is found.

import { fileURLToPath } from 'node:url';
import { isToolError, ToolError } from '../core/error.js';
import type { Format, Place } from '../core/format.js';
import { isToolName } from '../core/name.js';
import { parseRef } from '../core/ref.js';
import type { Skill } from '../core/skill.js';
import { withoutReservedTags } from '../core/tag.js';
import { compareText } from '../core/text.js';
import type { Owner, Problem, ShadowedTool, Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { isWithin } from '../files/within.js';
import { locate, toFilePath } from './at-path.js';
import { createDelegates } from './delegates.js';
import { createDirectory, type Directory, type DirectoryListing } from './directory.js';
import type { IndexFile } from './index-file.js';
import { ambiguous, invalidName, notFound, nothingAt, notUsable } from './refusals.js';

/** To whom a built-in tool is offered: listed for all, there for models alone, or for whoever asks by name. */
export type Offered = 'all' | 'models' | 'none';

export interface CatalogOptions {
  /** Tools given by code: first in precedence, changed by registering. */
  readonly registered: Map<string, Tool>;
  /**
   * Built-in tools. A person or code finds all of them; those that are offered are listed, and only they are
   * there for a model (SRV-14). Their names are reserved on disk (RES-3).
   */
  readonly builtin: readonly Tool[];
  /** Asked anew each time, since the configuration can change. */
  readonly offered: (tool: Tool, skills: readonly Skill[]) => Offered;
  /** Directories in path order, asked anew each time, since the workdir can change (SCR-16). */
  readonly places: () => readonly Place[];
  /** A path of a reference made absolute; undefined where it cannot be. */
  readonly toAbsolute: (path: string) => string | undefined;
  /** Whose files lie in a directory that is none of the places. */
  readonly ownerOf: (directory: string) => Owner;
  readonly formats: readonly Format[];
  readonly index: IndexFile;
  readonly world: World;
}

export interface FindOptions {
  /** Only what is listed is found, by whatever reference: for a model. */
  readonly visibleOnly?: boolean;
  /** Only what could be listed: hidden tools too, and no built-in tool that is not offered. */
  readonly offeredOnly?: boolean;
  /** Whether a tool may be named in a hint (POL-8). */
  readonly mayName?: (tool: Tool) => boolean;
  /** What may not be named is not found either. */
  readonly namedOnly?: boolean;
}

export interface Catalog {
  list(): Listing;
  /** The tool of a reference. Throws `not_found`, `ambiguous` or `invalid_ref`. */
  find(ref: string, options?: FindOptions): Tool;
  /** Adds a tool by code. Throws `conflict` where the name is taken by another such, or by an offered built-in. */
  register(tool: Tool): void;
  /** Whether there was one. */
  unregister(name: string): boolean;
  /** Forgets everything that was read, or what holds a tool of this name (RES-14). */
  forget(name?: string): void;
  /** Fetches what a look at the files could not tell; undefined where there is nothing to wait for. */
  settle(): Promise<unknown> | undefined;
}

export interface Listing {
  readonly tools: readonly Tool[];
  readonly shadowed: readonly ShadowedTool[];
  readonly problems: readonly Problem[];
  /** The first of each name, in path order. */
  readonly skills: readonly Skill[];
  /** Built-in tools that are not listed for everybody. */
  readonly unlisted: readonly Tool[];
  /** Those of them that models are offered. */
  readonly forModels: readonly Tool[];
}

// Views of directories that are on no search path: enough for a program that names its files.
const MAX_VIEWS = 256;

/** A tool at a path; one that yields gives way to the others there. */
interface Found {
  readonly tool: Tool;
  readonly yields: boolean;
}

export function createCatalog(options: CatalogOptions): Catalog {
  const { registered, offered, places, formats, index, world } = options;
  const builtin = options.builtin.map(
    (tool): Tool => ({ ...tool, origin: { ...tool.origin, builtin: true } }),
  );
  const views = new Map<string, Directory>();

  const viewOf = (place: Place, format: Format): Directory => {
    const { kind, owner, directory, external = false, ignore = [] } = place;
    const key = [format.name, kind, owner, external, directory, ...ignore].join('\n');
    let known = views.get(key);
    if (known === undefined) {
      if (views.size >= MAX_VIEWS) views.clear();
      known = createDirectory({ place, format, world, index });
      views.set(key, known);
    }
    return known;
  };

  // Every format that reads this kind of place, in their order.
  const viewsOf = (place: Place): readonly Directory[] =>
    formats.filter((format) => format.places.includes(place.kind)).map((format) => viewOf(place, format));

  // SKL-3: what yields comes after everything else, whatever place it lies in.
  const inOrder = (): readonly Directory[] => {
    const all = places().flatMap(viewsOf);
    return [...all.filter((directory) => !directory.yields), ...all.filter((directory) => directory.yields)];
  };

  // RES-31: held here for every format, so that none can forget it.
  const claims = new WeakMap<Tool, ReturnType<typeof withoutReservedTags>>();
  const claim = (tool: Tool): ReturnType<typeof withoutReservedTags> => {
    let known = claims.get(tool);
    if (known === undefined) {
      known = withoutReservedTags(tool, pathOf(tool));
      claims.set(tool, known);
    }
    return known;
  };

  // What a definition refers to is found like anything else, and followed no further here (RES-19).
  const delegates = createDelegates((ref) => {
    try {
      return seek(ref, {});
    } catch (error) {
      if (!isToolError(error)) throw error;
      return undefined;
    }
  });

  const byName = (a: Tool, b: Tool): number => compareText(a.name, b.name);

  const list = (): Listing => {
    const winners = new Map<string, Tool>();
    const tools: Tool[] = [];
    const unlisted: Tool[] = [];
    const forModels: Tool[] = [];
    const shadowed: ShadowedTool[] = [];
    const problems: Problem[] = [];
    const skills = new Map<string, Skill>();
    const add = (given: Tool, listed: boolean): void => {
      const { tool, problem } = builtin.includes(given) ? { tool: given } : claim(given);
      if (problem) problems.push(problem);
      const winner = winners.get(tool.name);
      if (winner) shadowed.push({ tool, by: winner });
      else {
        winners.set(tool.name, tool);
        (listed ? tools : unlisted).push(tool);
      }
    };
    const listings = inOrder().map((directory) => directory.list());
    for (const skill of listings.flatMap((listing) => listing.skills)) {
      if (!skills.has(skill.name)) skills.set(skill.name, skill);
    }
    // RES-8: programmatic tools first, then disk in path order, each group by name.
    for (const tool of [...registered.values()].sort(byName)) add(tool, true);
    for (const tool of [...builtin].sort(byName)) {
      if (winners.has(tool.name)) continue;
      const offer = offered(tool, [...skills.values()]);
      if (offer === 'models') forModels.push(tool);
      add(tool, offer === 'all');
    }
    for (const listing of listings) {
      for (const tool of listing.tools) add(tool, true);
      problems.push(...listing.problems);
    }
    return {
      tools: completeAll(tools, listings, problems),
      shadowed,
      problems,
      skills: [...skills.values()],
      unlisted,
      forModels,
    };
  };

  // A tool whose delegate is not there is not listed; which those are, the skills tell without reading an action.
  const completeAll = (
    tools: readonly Tool[],
    listings: readonly DirectoryListing[],
    problems: Problem[],
  ): readonly Tool[] => {
    const delegating = new Set(
      listings
        .flatMap(({ skills }) => skills.filter(({ delegate }) => delegate !== null))
        .map(({ name }) => name),
    );
    if (delegating.size === 0) return tools;
    return tools.flatMap((tool) => {
      if (!delegating.has(tool.name)) return [tool];
      try {
        return [delegates.complete(tool)];
      } catch (error) {
        if (!isToolError(error)) throw error;
        const { message, hint = '' } = error;
        problems.push({ severity: 'error', path: pathOf(tool), message, hint });
        return [];
      }
    });
  };

  /** RES-3: programmatic, built-in, search path, scripts; the first hit wins. */
  const look = (name: string): Tool | Problem | undefined => {
    const given = registered.get(name);
    if (given) return claim(given).tool;
    const own = builtin.find((tool) => tool.name === name);
    if (own) return own;
    let problem: Problem | undefined;
    for (const directory of inOrder()) {
      const found = directory.find(name);
      if (found === undefined) continue;
      if (!('severity' in found)) return claim(found).tool;
      // A file that is no tool keeps no other from being one, in a listing as here.
      problem ??= found;
    }
    return problem;
  };

  const isOffered = (tool: Tool): boolean =>
    !builtin.includes(tool) || offered(tool, list().skills) !== 'none';

  const isInReach = (tool: Tool, reach: FindOptions): boolean =>
    !(reach.visibleOnly && tool.traits.hidden) &&
    !((reach.visibleOnly || reach.offeredOnly) && !isOffered(tool)) &&
    !(reach.namedOnly && reach.mayName?.(tool) === false);

  /** The entry of a format at a path. What is on the search path keeps its place there, what is not has none. */
  const viewAt = (path: string, format: Format, visibleOnly: boolean) => {
    const located = locate(path, format);
    if (located === undefined) return undefined;
    const { directory, entry } = located;
    const known = places().find(
      (place) => place.directory === directory && format.places.includes(place.kind),
    );
    if (visibleOnly) return known && viewOf(known, format).at(entry);
    const owner = known?.owner ?? options.ownerOf(directory);
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
      reading.tools.map((tool): Found => ({ tool: claim(tool).tool, yields })),
    );
    // A path is another way to write a name that a model is offered, and no way to a file that it is not: else a
    // rule that names a tool would be about another file of that name (decision 0018).
    const isWinner = ({ tool }: Found): boolean => {
      const winner = look(tool.name);
      return (
        winner !== undefined &&
        !('severity' in winner) &&
        winner.origin.uri === tool.origin.uri &&
        isInReach(winner, reach)
      );
    };
    return {
      tools: tools.filter((found) => (visibleOnly ? isWinner(found) : isInReach(found.tool, reach))),
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
    const absolute = options.toAbsolute(path);
    const { tools, problem } = absolute === undefined ? { tools: [] } : readAt(absolute, reach);
    const tool = pick(ref, tools, fragment);
    if (tool !== undefined) return tool;
    throw problem === undefined ? nothingAt(ref, []) : notUsable(path, problem);
  };

  /** The tool of a reference as its definition stands. */
  const seek = (text: string, reach: FindOptions): Tool => {
    const ref = parseRef(text);
    if (ref.kind === 'path') return findAt(text, ref.path, ref.fragment, reach);
    if (ref.kind === 'uri') {
      const seen = [...registered.values()]
        .filter(({ origin }) => origin.uri === ref.uri || origin.uri === text)
        .map((tool): Found => ({ tool: claim(tool).tool, yields: false }))
        .filter(({ tool }) => isInReach(tool, reach));
      const whole = seen.filter(({ tool }) => tool.origin.uri === text);
      const tool = whole.length === 1 ? whole[0]!.tool : pick(text, seen, ref.fragment);
      if (tool !== undefined) return tool;
      if (ref.scheme !== 'file') throw nothingAt(text, []);
      return findAt(text, toFilePath(ref.uri), ref.fragment, reach);
    }
    const { name, fragment } = ref;
    const named = fragment === undefined ? findNamed(name, reach) : undefined;
    if (named !== undefined) return named;
    // RES-1: in no catalog, so it is tried as a file of the workdir.
    const absolute = options.toAbsolute(name);
    const tools = absolute === undefined ? [] : readAt(absolute, reach).tools;
    const tool = pick(text, tools, fragment);
    if (tool !== undefined) return tool;
    const { mayName = () => true } = reach;
    throw fragment === undefined && isToolName(name)
      ? notFound(name, list().tools.filter(mayName), places())
      : invalidName(text);
  };

  const find: Catalog['find'] = (text, reach = {}) => delegates.complete(seek(text, reach));

  const settling = formats.filter((format) => format.settle !== undefined);
  const settle: Catalog['settle'] = () => {
    if (settling.length === 0) return undefined;
    const waits = settling.map((format) => format.settle?.()).filter((wait) => wait !== undefined);
    return waits.length === 0 ? undefined : Promise.all(waits);
  };

  return {
    list,
    find,
    settle,
    register(tool) {
      const { name } = tool;
      const reserved = builtin.find((candidate) => candidate.name === name);
      if (registered.has(name) || (reserved !== undefined && isOffered(reserved))) {
        throw new ToolError('conflict', `there is a tool "${name}" already`, {
          hint: registered.has(name) ? 'unregister it first, or choose another name' : 'choose another name',
        });
      }
      registered.set(name, tool);
    },
    unregister: (name) => registered.delete(name),
    forget(name) {
      places().flatMap(viewsOf);
      for (const view of views.values()) view.forget(name);
    },
  };
}

function pathOf({ name, origin: { uri } }: Tool): string {
  return uri?.startsWith('file:') ? fileURLToPath(uri) : (uri ?? name);
}
