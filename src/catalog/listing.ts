// Merges the tools of all origins into one listing in which each name occurs once.

import type { Upstream } from '../core/format.js';
import { withoutReservedTags } from '../core/name.js';
import type { Origin } from '../core/origin.js';
import { type Problem, withoutRepeats } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import { compareText } from '../core/text.js';
import { isSameCommand, type ShadowedTool, type Tool } from '../core/tool.js';
import { fromFileUri } from '../files/within.js';
import type { DirectoryListing } from './entry.js';

/** Who sees a built-in tool: everyone, models only, or nobody (callable by name). */
export type Audience = 'all' | 'models' | 'none';

/** What decides who sees a built-in tool. */
export interface Listed {
  /** The first skill of each name, in path order. */
  readonly skills: readonly Skill[];
  /** Whether a process of a tool goes on after its call. */
  hasBackground(): boolean;
}

export interface Listing extends Listed {
  readonly tools: readonly Tool[];
  readonly shadowed: readonly ShadowedTool[];
  readonly problems: readonly Problem[];
  /** Files whose tools are not listed, but may be later. */
  readonly otherFiles: readonly Origin[];
  /** Built-in tools that are not listed for everyone. */
  readonly unlisted: readonly Tool[];
  /** The unlisted tools that models see. */
  readonly forModels: readonly Tool[];
}

export interface ListingParts {
  readonly registered: Iterable<Tool>;
  /** Built-in tools whose names are reserved. */
  readonly reserved: readonly Tool[];
  /** Built-in tools that give way to any other tool of their name. */
  readonly yielding: readonly Tool[];
  readonly remote: ReturnType<Upstream['list']> | undefined;
  /** In precedence order. */
  readonly directories: readonly DirectoryListing[];
  readonly audienceOf: (tool: Tool, listed: Listed) => Audience;
}

/** Merges in order of precedence: registered, built-in, servers, disk in path order, each group by name (RES-8). */
export function mergeListing(parts: ListingParts): Listing {
  const winners = new Map<string, Tool>();
  const tools: Tool[] = [];
  const unlisted: Tool[] = [];
  const forModels: Tool[] = [];
  const shadowed: ShadowedTool[] = [];
  const problems: Problem[] = [];
  const registered = [...parts.registered];
  const isBackground = ({ traits }: Tool): boolean => traits.background === true;
  const hasBackground = (): boolean =>
    registered.some(isBackground) || parts.directories.some((listing) => listing.tools.some(isBackground));
  const skills = firstOfEachName(parts.directories.flatMap((listing) => listing.skills));

  const add = (tool: Tool, to: Tool[]): void => {
    const winner = winners.get(tool.name);
    if (winner) {
      if (!isSameCommand(tool, winner)) shadowed.push({ tool, by: winner });
    } else {
      winners.set(tool.name, tool);
      to.push(tool);
    }
  };
  const addListed = (given: Tool): void => {
    const { tool, problem } = withoutReserved(given);
    if (problem) problems.push(problem);
    add(tool, tools);
  };
  const addBuiltin = (tool: Tool): void => {
    if (winners.has(tool.name)) return;
    const audience = parts.audienceOf(tool, { skills, hasBackground });
    if (audience === 'models') forModels.push(tool);
    add(tool, audience === 'all' ? tools : unlisted);
  };

  for (const tool of registered.sort(byName)) addListed(tool);
  for (const tool of parts.reserved) addBuiltin(tool);
  for (const tool of parts.remote?.tools ?? []) addListed(tool);
  problems.push(...(parts.remote?.problems ?? []));
  for (const listing of parts.directories) {
    for (const tool of listing.tools) addListed(tool);
    problems.push(...listing.problems);
  }
  for (const tool of parts.yielding) addBuiltin(tool);
  const otherFiles = parts.directories.flatMap((listing) => listing.otherFiles);
  return {
    tools,
    shadowed,
    problems: withoutRepeats(problems),
    otherFiles,
    skills,
    hasBackground,
    unlisted,
    forModels,
  };
}

/** Removes reserved tags from a tool of any format (RES-31). */
export function withoutReserved(tool: Tool): ReturnType<typeof withoutReservedTags> {
  return withoutReservedTags(tool, () => pathOf(tool));
}

/** Returns what a problem names as the file of a tool. */
export function pathOf({ name, origin: { uri } }: Tool): string {
  return fromFileUri(uri) ?? uri ?? name;
}

export function byName(a: Tool, b: Tool): number {
  return compareText(a.name, b.name);
}

export function firstOfEachName(skills: readonly Skill[]): readonly Skill[] {
  const first = new Map<string, Skill>();
  for (const skill of skills) if (!first.has(skill.name)) first.set(skill.name, skill);
  return [...first.values()];
}
