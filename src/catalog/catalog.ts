// The catalog: every tool there is, in one order, each name once; what is listed is what is found.

import { fileURLToPath } from 'node:url';
import { isToolError, ToolError } from '../core/error.js';
import type { Format, Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import { withoutReservedTags } from '../core/tag.js';
import { compareText } from '../core/text.js';
import type { Owner, ShadowedTool, Tool } from '../core/tool.js';
import type { Upstream } from '../core/upstream.js';
import type { World } from '../core/world.js';
import { createDelegates } from './delegates.js';
import { createDirectory, type Directory, type DirectoryListing } from './directory.js';
import { createFinder, type FindOptions, isAsked } from './find.js';
import type { IndexFile } from './index-file.js';

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
  /** Built-in tools that give way to any other of their name: what ends a task is often someone's own. */
  readonly yielding?: readonly Tool[];
  /** Asked anew each time, since the configuration can change. */
  readonly offered: (tool: Tool, skills: readonly Skill[]) => Offered;
  /** Directories in path order, asked anew each time, since the workdir can change (SCR-16). */
  readonly places: () => readonly Place[];
  /** A path of a reference made absolute; undefined where it cannot be. */
  readonly toAbsolute: (path: string) => string | undefined;
  /** Whose files lie in a directory that is none of the places. */
  readonly ownerOf: (directory: string) => Owner;
  readonly formats: readonly Format[];
  /** The tools of servers; they come before what lies on disk (RES-42). */
  readonly upstream?: Upstream;
  readonly index: IndexFile;
  readonly world: World;
}

export interface Catalog {
  /** `offer` names built-in tools or groups of them that are listed too. */
  list(offer?: readonly string[]): Listing;
  /** The tool of a reference. Throws `not_found`, `ambiguous` or `invalid_ref`. */
  find(ref: string, options?: FindOptions): Tool;
  /** Adds a tool by code. Throws `conflict` where the name is taken by another such, or by an offered built-in. */
  register(tool: Tool): void;
  /** Whether there was one. */
  unregister(name: string): boolean;
  /** Forgets everything that was read, or what holds a tool of this name (RES-14). */
  forget(name?: string): void;
  /**
   * Fetches what a look at the files could not tell, all of it or what a reference is about; undefined where there is
   * nothing to wait for.
   */
  settle(ref?: string): Promise<unknown> | undefined;
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

export function createCatalog(options: CatalogOptions): Catalog {
  const { registered, offered, places, formats, upstream, index, world } = options;
  const asBuiltin = (tool: Tool): Tool => ({ ...tool, origin: { ...tool.origin, builtin: true } });
  const reserved = options.builtin.map(asBuiltin);
  const yielding = (options.yielding ?? []).map(asBuiltin);
  const builtin = [...reserved, ...yielding];
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
      known = withoutReservedTags(tool, () => pathOf(tool));
      claims.set(tool, known);
    }
    return known;
  };

  // What a definition refers to is found like anything else, and followed no further here (RES-19).
  const delegates = createDelegates((ref) => {
    try {
      // A listing follows delegates, so none is made for a hint that nobody reads.
      return seek(ref, {}, () => []);
    } catch (error) {
      if (!isToolError(error)) throw error;
      return undefined;
    }
  });

  const byName = (a: Tool, b: Tool): number => compareText(a.name, b.name);

  const list = (offer: readonly string[] = []): Listing => {
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
    // RES-8: programmatic tools first, then those of servers, then disk in path order, each group by name.
    for (const tool of [...registered.values()].sort(byName)) add(tool, true);
    const addBuiltin = (tool: Tool): void => {
      if (winners.has(tool.name)) return;
      const to = isAsked(tool, offer) ? 'all' : offered(tool, [...skills.values()]);
      if (to === 'models') forModels.push(tool);
      add(tool, to === 'all');
    };
    for (const tool of reserved.sort(byName)) addBuiltin(tool);
    const remote = upstream?.list();
    for (const tool of remote?.tools ?? []) add(tool, true);
    problems.push(...(remote?.problems ?? []));
    for (const listing of listings) {
      for (const tool of listing.tools) add(tool, true);
      problems.push(...listing.problems);
    }
    for (const tool of yielding.sort(byName)) addBuiltin(tool);
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

  const { seek } = createFinder({
    registered,
    builtin,
    yielding,
    offered,
    places,
    formats,
    ...(upstream === undefined ? {} : { upstream }),
    toAbsolute: options.toAbsolute,
    ownerOf: options.ownerOf,
    list,
    inOrder,
    viewOf,
    asClaimed: (tool) => claim(tool).tool,
  });

  const find: Catalog['find'] = (text, reach = {}) => delegates.complete(seek(text, reach));

  const settling = formats.filter((format) => format.settle !== undefined);
  const settle: Catalog['settle'] = (ref) => {
    const waits = [...settling.map((format) => format.settle?.()), upstream?.settle(ref)].filter(
      (wait) => wait !== undefined,
    );
    return waits.length === 0 ? undefined : Promise.all(waits);
  };

  return {
    list,
    find,
    settle,
    register(tool) {
      const { name } = tool;
      const own = reserved.find((candidate) => candidate.name === name);
      if (registered.has(name) || (own !== undefined && offered(own, list().skills) !== 'none')) {
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
