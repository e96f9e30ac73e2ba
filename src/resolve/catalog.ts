// The catalog: every tool there is, in one order, each name once; what is listed is what is found.

import { ToolError } from '../core/error.js';
import type { Format, Place } from '../core/format.js';
import { isToolName } from '../core/name.js';
import { parseRef } from '../core/ref.js';
import type { Skill } from '../core/skill.js';
import { compareText } from '../core/text.js';
import type { Owner, Problem, ShadowedTool, Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { isWithin } from '../files/within.js';
import { locate, toFilePath } from './at-path.js';
import { createDirectory, type Directory } from './directory.js';
import type { IndexFile } from './index-file.js';
import { ambiguous, invalidName, notFound, nothingAt, notUsable } from './refusals.js';

export interface CatalogOptions {
  /** Tools given by code: first in precedence, changed by registering. */
  readonly registered: Map<string, Tool>;
  /**
   * Built-in tools. A person or code finds all of them; those that are offered are listed, and only they are
   * there for a model (SRV-14). Their names are reserved on disk (RES-3).
   */
  readonly builtin: readonly Tool[];
  /** Asked anew each time, since the configuration can change. */
  readonly offered: (tool: Tool, skills: readonly Skill[]) => boolean;
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
}

export interface Listing {
  readonly tools: readonly Tool[];
  readonly shadowed: readonly ShadowedTool[];
  readonly problems: readonly Problem[];
  /** The first of each name, in path order. */
  readonly skills: readonly Skill[];
}

// Views of directories that are on no search path: enough for a program that names its files.
const MAX_VIEWS = 256;

export function createCatalog(options: CatalogOptions): Catalog {
  const { registered, builtin, offered, places, formats, index, world } = options;
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

  const byName = (a: Tool, b: Tool): number => compareText(a.name, b.name);

  const list = (): Listing => {
    const winners = new Map<string, Tool>();
    const tools: Tool[] = [];
    const shadowed: ShadowedTool[] = [];
    const problems: Problem[] = [];
    const skills = new Map<string, Skill>();
    const add = (tool: Tool, listed: boolean): void => {
      const winner = winners.get(tool.name);
      if (winner) shadowed.push({ tool, by: winner });
      else {
        winners.set(tool.name, tool);
        if (listed) tools.push(tool);
      }
    };
    const listings = places()
      .flatMap(viewsOf)
      .map((directory) => directory.list());
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
    return { tools, shadowed, problems, skills: [...skills.values()] };
  };

  /** RES-3: programmatic, built-in, search path, scripts; the first hit wins. */
  const look = (name: string): Tool | Problem | undefined => {
    const given = registered.get(name) ?? builtin.find((tool) => tool.name === name);
    if (given) return given;
    let problem: Problem | undefined;
    for (const directory of places().flatMap(viewsOf)) {
      const found = directory.find(name);
      if (found === undefined) continue;
      if (!('severity' in found)) return found;
      // A file that is no tool keeps no other from being one, in a listing as here.
      problem ??= found;
    }
    return problem;
  };

  const isVisible = (tool: Tool): boolean =>
    !tool.traits.hidden && (!builtin.includes(tool) || offered(tool, list().skills));

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

  const readAt = (path: string, visibleOnly: boolean) => {
    // Nothing else is even looked at for a model.
    if (visibleOnly && !places().some((place) => isWithin(place.directory, path))) return { tools: [] };
    const readings = formats.flatMap((format) => viewAt(path, format, visibleOnly) ?? []);
    const tools = readings.flatMap((reading) => reading.tools);
    // A path is another way to write a name that a model is offered, and no way to a file that it is not: else a
    // rule that names a tool would be about another file of that name (decision 0018).
    const isOffered = (tool: Tool): boolean => {
      const winner = look(tool.name);
      return (
        winner !== undefined &&
        !('severity' in winner) &&
        winner.origin.uri === tool.origin.uri &&
        isVisible(winner)
      );
    };
    return {
      tools: visibleOnly ? tools.filter(isOffered) : tools,
      problem: visibleOnly
        ? undefined
        : readings.flatMap(({ problems }) => problems).find(({ severity }) => severity === 'error'),
    };
  };

  /** The one tool of several that a fragment picks; undefined where there is none. */
  const pick = (ref: string, tools: readonly Tool[], fragment: string | undefined): Tool | undefined => {
    const names = [...new Set(tools.map((tool) => tool.name))];
    if (fragment !== undefined) {
      const picked = tools.find((tool) => tool.name === fragment);
      if (picked === undefined && names.length > 0) throw nothingAt(ref, names);
      return picked;
    }
    if (names.length > 1) throw ambiguous(ref, names);
    return tools[0];
  };

  const findNamed = (name: string, visibleOnly: boolean): Tool | undefined => {
    const found = registered.has(name) || isToolName(name) ? look(name) : undefined;
    if (found === undefined) return undefined;
    if ('severity' in found) throw notUsable(name, found);
    return visibleOnly && !isVisible(found) ? undefined : found;
  };

  const findAt = (ref: string, path: string, fragment: string | undefined, visibleOnly: boolean): Tool => {
    const absolute = options.toAbsolute(path);
    const { tools, problem } = absolute === undefined ? { tools: [] } : readAt(absolute, visibleOnly);
    const tool = pick(ref, tools, fragment);
    if (tool !== undefined) return tool;
    throw problem === undefined ? nothingAt(ref, []) : notUsable(path, problem);
  };

  const find: Catalog['find'] = (text, { visibleOnly = false } = {}) => {
    const ref = parseRef(text);
    if (ref.kind === 'path') return findAt(text, ref.path, ref.fragment, visibleOnly);
    if (ref.kind === 'uri') {
      const given = [...registered.values()].filter(
        ({ origin }) => origin.uri === ref.uri || origin.uri === text,
      );
      const seen = visibleOnly ? given.filter(isVisible) : given;
      const whole = seen.filter(({ origin }) => origin.uri === text);
      const tool = whole.length === 1 ? whole[0] : pick(text, seen, ref.fragment);
      if (tool !== undefined) return tool;
      if (ref.scheme !== 'file') throw nothingAt(text, []);
      return findAt(text, toFilePath(ref.uri), ref.fragment, visibleOnly);
    }
    const { name, fragment } = ref;
    const named = fragment === undefined ? findNamed(name, visibleOnly) : undefined;
    if (named !== undefined) return named;
    // RES-1: in no catalog, so it is tried as a file of the workdir.
    const absolute = options.toAbsolute(name);
    const tools = absolute === undefined ? [] : readAt(absolute, visibleOnly).tools;
    const tool = pick(text, tools, fragment);
    if (tool !== undefined) return tool;
    throw fragment === undefined && isToolName(name)
      ? notFound(name, list().tools, places())
      : invalidName(text);
  };

  return {
    list,
    find,
    register(tool) {
      const { name } = tool;
      const reserved = builtin.find((candidate) => candidate.name === name);
      if (registered.has(name) || (reserved !== undefined && offered(reserved, list().skills))) {
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
