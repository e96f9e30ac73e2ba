// The catalog: every tool there is, in one order, each name once; what is listed is what is found.

import { fileURLToPath } from 'node:url';
import { isToolError, ToolError } from '../core/error.js';
import type { Format, Place } from '../core/format.js';
import { isToolName } from '../core/name.js';
import type { Skill } from '../core/skill.js';
import { withoutReservedTags } from '../core/tag.js';
import { compareText, nearest, quoteOutside } from '../core/text.js';
import type { Problem, ShadowedTool, Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { createDelegates } from './delegates.js';
import { createDirectory, type Directory, type DirectoryListing } from './directory.js';
import type { IndexFile } from './index-file.js';

export interface CatalogOptions {
  /** Tools given by code: first in precedence, changed by registering. */
  readonly registered: ReadonlyMap<string, Tool>;
  /**
   * Built-in tools. A person or code finds all of them; those that are offered are listed, and only they are
   * there for a model (SRV-14). Their names are reserved on disk (RES-3).
   */
  readonly builtin: readonly Tool[];
  /** Asked anew each time, since the configuration can change. */
  readonly offered: (tool: Tool, skills: readonly Skill[]) => boolean;
  /** Directories in path order, asked anew each time, since the workdir can change (SCR-16). */
  readonly places: () => readonly Place[];
  readonly formats: readonly Format[];
  readonly index: IndexFile;
  readonly world: World;
}

export interface Catalog {
  list(): Listing;
  /** The tool of a name. Throws `not_found` or `invalid_ref`. */
  find(name: string, options?: FindOptions): Tool;
}

export interface FindOptions {
  /** Only what is listed. */
  readonly visibleOnly?: boolean;
  /** Only what could be listed: hidden tools too, and no built-in tool that is not offered. */
  readonly offeredOnly?: boolean;
  /** Whether a tool may be named in a hint (POL-8). */
  readonly mayName?: (tool: Tool) => boolean;
  /** What may not be named is not found either. */
  readonly namedOnly?: boolean;
}

export interface Listing {
  readonly tools: readonly Tool[];
  readonly shadowed: readonly ShadowedTool[];
  readonly problems: readonly Problem[];
  /** The first of each name, in path order. */
  readonly skills: readonly Skill[];
  /** Built-in tools that are not offered. */
  readonly unlisted: readonly Tool[];
}

export function createCatalog(options: CatalogOptions): Catalog {
  const { registered, offered, places, formats, index, world } = options;
  const builtin = options.builtin.map(
    (tool): Tool => ({ ...tool, origin: { ...tool.origin, builtin: true } }),
  );
  const directories = new Map<string, readonly Directory[]>();

  // Every format that reads this kind of place, in their order.
  const directoriesOf = (place: Place): readonly Directory[] => {
    const key = `${place.kind} ${place.owner}\n${place.directory}`;
    let known = directories.get(key);
    if (known === undefined) {
      known = formats
        .filter((format) => format.place === place.kind)
        .map((format) => createDirectory({ place, format, world, index }));
      directories.set(key, known);
    }
    return known;
  };

  // SKL-3: what yields comes after everything else, whatever place it lies in.
  const inOrder = (): readonly Directory[] => {
    const all = places().flatMap(directoriesOf);
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

  const delegates = createDelegates((ref) => {
    try {
      return registered.has(ref) || isToolName(ref) ? look(ref) : undefined;
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
      if (!winners.has(tool.name)) add(tool, offered(tool, [...skills.values()]));
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

  const look = (name: string): Tool | undefined => {
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
    if (problem) throw notUsable(name, problem);
    return undefined;
  };

  const isOffered = (tool: Tool): boolean => !builtin.includes(tool) || offered(tool, list().skills);

  const find: Catalog['find'] = (name, options = {}) => {
    const { visibleOnly = false, offeredOnly = visibleOnly, mayName = () => true, namedOnly } = options;
    // Untyped code can send anything, and a pattern would take `undefined` for a word.
    if (typeof name !== 'string' || !(registered.has(name) || isToolName(name))) {
      const what =
        typeof name === 'string' ? `"${quoteOutside(name, 80)}"` : `a reference of type ${typeof name}`;
      throw new ToolError('invalid_ref', `${what} is not a tool name`, {
        hint: 'use a name that `wield list` shows',
      });
    }
    const tool = look(name);
    const isOutOfReach =
      tool === undefined ||
      (visibleOnly && tool.traits.hidden) ||
      (offeredOnly && !isOffered(tool)) ||
      (namedOnly && !mayName(tool));
    if (isOutOfReach) throw notFound(name, list().tools.filter(mayName), places());
    return delegates.complete(tool);
  };

  return { list, find };
}

function pathOf({ name, origin: { uri } }: Tool): string {
  return uri?.startsWith('file:') ? fileURLToPath(uri) : (uri ?? name);
}

function notUsable(name: string, problem: Problem): ToolError {
  return new ToolError('not_found', `${name} is not a tool: ${problem.path} ${problem.message}`, {
    hint: problem.hint,
    data: { path: problem.path },
  });
}

// ERR-3, RES-11
function notFound(name: string, tools: readonly Tool[], places: readonly Place[]): ToolError {
  const close = nearest(
    name,
    tools.filter((tool) => !tool.traits.hidden).map((tool) => tool.name),
  );
  const searched = places.map((place) => place.directory);
  const hint =
    close.length > 0
      ? `did you mean ${close.join(', ')}? wield list shows all`
      : searched.length > 0
        ? `wield list shows what there is; looked in ${searched.join(', ')}`
        : 'give the tool to createToolbox';
  return new ToolError('not_found', `there is no tool "${name}"`, {
    hint,
    data: { nearest: close, searched },
  });
}
