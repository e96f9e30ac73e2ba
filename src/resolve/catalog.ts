// The catalog: every tool there is, in one order, each name once; what is listed is what is found.

import { ToolError } from '../core/error.js';
import type { Format, Place } from '../core/format.js';
import { isToolName } from '../core/name.js';
import type { Skill } from '../core/skill.js';
import { compareText, nearest, quoteOutside } from '../core/text.js';
import type { Problem, ShadowedTool, Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { createDirectory, type Directory } from './directory.js';
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
  /** `offer` names built-in tools or groups of them that are listed too. */
  list(offer?: readonly string[]): Listing;
  /** The tool of a name. Throws `not_found` or `invalid_ref`; with `visibleOnly` only what is listed is found. */
  find(name: string, options?: FindOptions): Tool;
}

export interface FindOptions {
  readonly visibleOnly?: boolean;
  /** Built-in tools that are visible too, by name or group. */
  readonly offer?: readonly string[];
  /** Whether a tool may be named in a hint (POL-8). */
  readonly mayName?: (tool: Tool) => boolean;
}

export interface Listing {
  readonly tools: readonly Tool[];
  readonly shadowed: readonly ShadowedTool[];
  readonly problems: readonly Problem[];
  /** The first of each name, in path order. */
  readonly skills: readonly Skill[];
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

  const byName = (a: Tool, b: Tool): number => compareText(a.name, b.name);

  const isOffered = (tool: Tool, skills: readonly Skill[], offer: readonly string[]): boolean =>
    offer.some((entry) => entry === tool.name || entry === tool.traits.group) || offered(tool, skills);

  const list = (offer: readonly string[] = []): Listing => {
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
      .flatMap(directoriesOf)
      .map((directory) => directory.list());
    for (const skill of listings.flatMap((listing) => listing.skills)) {
      if (!skills.has(skill.name)) skills.set(skill.name, skill);
    }
    // RES-8: programmatic tools first, then disk in path order, each group by name.
    for (const tool of [...registered.values()].sort(byName)) add(tool, true);
    for (const tool of [...builtin].sort(byName)) {
      if (!winners.has(tool.name)) add(tool, isOffered(tool, [...skills.values()], offer));
    }
    for (const listing of listings) {
      for (const tool of listing.tools) add(tool, true);
      problems.push(...listing.problems);
    }
    return { tools, shadowed, problems, skills: [...skills.values()] };
  };

  const look = (name: string): Tool | undefined => {
    const given = registered.get(name) ?? builtin.find((tool) => tool.name === name);
    if (given) return given;
    let problem: Problem | undefined;
    for (const directory of places().flatMap(directoriesOf)) {
      const found = directory.find(name);
      if (found === undefined) continue;
      if (!('severity' in found)) return found;
      // A file that is no tool keeps no other from being one, in a listing as here.
      problem ??= found;
    }
    if (problem) throw notUsable(name, problem);
    return undefined;
  };

  const isVisible = (tool: Tool, offer: readonly string[]): boolean =>
    !tool.traits.hidden && (!builtin.includes(tool) || isOffered(tool, list().skills, offer));

  const find: Catalog['find'] = (name, options = {}) => {
    const { visibleOnly = false, mayName = () => true, offer = [] } = options;
    // Untyped code can send anything, and a pattern would take `undefined` for a word.
    if (typeof name !== 'string' || !(registered.has(name) || isToolName(name))) {
      const what =
        typeof name === 'string' ? `"${quoteOutside(name, 80)}"` : `a reference of type ${typeof name}`;
      throw new ToolError('invalid_ref', `${what} is not a tool name`, {
        hint: 'use a name that `wield list` shows',
      });
    }
    const tool = look(name);
    if (tool === undefined || (visibleOnly && !isVisible(tool, offer)))
      throw notFound(name, list(offer).tools.filter(mayName), places());
    return tool;
  };

  return { list, find };
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
