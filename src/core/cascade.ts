// The cascade: combines the settings of a tool, its authority and the skills it inherits from.

import type { Json } from './json.js';
import type { MiddlewareSettings } from './middleware.js';
import type { Problem } from './problem.js';
import type { PathEntry } from './search-path.js';
import type { Skill, SkillRules } from './skill.js';
import type { Snapshot } from './snapshot.js';
import type { Owner, Tool } from './tool.js';

/** The settings of one tool or skill. */
export interface Level {
  /** Name for display. */
  readonly name: string;
  readonly owner: Owner;
  readonly allowedTools: readonly string[] | null;
  readonly timeoutMs?: number;
  readonly settings: Readonly<Record<string, Json>>;
  /** What the skill of this level declares; undefined if there is nothing (RES-44). */
  readonly narrowing?: Narrowing;
}

/** What a skill declares to restrict the tools that it governs (RES-44). */
export interface Narrowing {
  /** Name of the skill, for messages. */
  readonly name: string;
  /** The `SKILL.md`. */
  readonly file: string;
  /** Relative paths are resolved against it. */
  readonly directory: string;
  readonly trust?: SkillRules;
  readonly middleware?: readonly MiddlewareSettings[];
  readonly paths?: readonly PathEntry[];
}

/** The effective settings of a tool (RES-17). */
export interface Cascade {
  /** The main skill that governs the tool, or null (RES-16). */
  readonly authority: Skill | null;
  /** Names of the levels, nearest first. */
  readonly levels: readonly string[];
  /** Selectors of each level that limits calls; every list must allow a call. */
  readonly permissions: readonly (readonly string[])[];
  /** The nearest time limit other than the tool's own. */
  readonly timeout: { readonly ms: number; readonly from: string; readonly owner: Owner } | null;
  /** `paths`, `trust` and `middleware`, each from the nearest level that has it. */
  readonly settings: Readonly<Record<string, { readonly value: Json; readonly from: string }>>;
  /** What the skills of all levels restrict; each applies (RES-44). */
  readonly narrowing: readonly Narrowing[];
}

/** Resolves what tools inherit from the skills that govern them. */
export interface CascadeResolver {
  /** Throws `invalid_ref` if `$inherit` names a missing skill or forms a cycle (RES-15). */
  of(tool: Tool, snapshot: Snapshot): Cascade;
  /** Returns the main skill that governs a tool (RES-16). */
  authorityOf(tool: Tool, snapshot: Snapshot): Skill | null;
  /** Returns what the skills of all levels of a tool restrict (RES-44). */
  narrowingOf(tool: Tool, snapshot: Snapshot): readonly Narrowing[];
  /** Returns what the main skills above a tool restrict. `skills` are the listed ones, which are not read again. */
  narrowingAbove(tool: Tool, skills: readonly Skill[], snapshot: Snapshot): readonly Narrowing[];
  /** Returns the time limit of a tool that declares none. */
  inheritedTimeout(tool: Tool, snapshot: Snapshot): number;
  /** Returns problems in what these tools and skills inherit, and in the skills that govern them. */
  problems(tools: readonly Tool[], skills: readonly Skill[], snapshot: Snapshot): readonly Problem[];
}

/** Inherited settings other than permissions and the time limit. Role, tags and visibility are never inherited. */
export const INHERITED_SETTINGS = ['paths', 'trust', 'middleware'] as const;

export interface CascadeInput {
  readonly authority: Skill | null;
  /** The tool's own settings. */
  readonly own: Level;
  /** Levels whose settings apply, nearest first. */
  readonly above: readonly Level[];
  /** Levels that only limit calls; lower levels cannot remove a limit. */
  readonly limiting: readonly Level[];
}

/** Combines the permissions of all levels; other settings come from the nearest level. */
export function toCascade({ authority, own, above, limiting }: CascadeInput): Cascade {
  const levels = [own, ...above];
  const every = [...new Set([...levels, ...limiting])];
  const timed = above.find((level) => level.timeoutMs !== undefined);
  const settings: Record<string, { value: Json; from: string }> = {};
  for (const name of INHERITED_SETTINGS) {
    const level = levels.find((candidate) => Object.hasOwn(candidate.settings, name));
    if (level) settings[name] = { value: level.settings[name]!, from: level.name };
  }
  return {
    authority,
    levels: every.map(({ name }) => name),
    permissions: every.flatMap(({ allowedTools }) => (allowedTools === null ? [] : [allowedTools])),
    timeout: timed === undefined ? null : { ms: timed.timeoutMs!, from: timed.name, owner: timed.owner },
    settings,
    narrowing: collectNarrowing(every),
  };
}

/** One array for all tools without any, so that what is derived from it can be cached. */
export const NO_NARROWING: readonly Narrowing[] = Object.freeze([]);

function collectNarrowing(levels: readonly Level[]): readonly Narrowing[] {
  const found = levels.flatMap(({ narrowing }) => narrowing ?? []);
  return found.length === 0 ? NO_NARROWING : found;
}

const narrowings = new WeakMap<Skill, Narrowing>();

/** Returns what a skill restricts, the same object every time; undefined if it restricts nothing. */
export function toNarrowing(skill: Skill): Narrowing | undefined {
  const { name, file, directory, trust, middleware, paths } = skill;
  if (trust === undefined && middleware === undefined && paths === undefined) return undefined;
  const narrowing = narrowings.get(skill) ?? { name, file, directory, trust, middleware, paths };
  narrowings.set(skill, narrowing);
  return narrowing;
}

/** The resolver of a toolbox without skills: a tool has only its own level. */
export const NO_CASCADE: CascadeResolver = {
  of: (tool) => toCascade({ authority: null, own: toOwnLevel(tool), above: [], limiting: [] }),
  authorityOf: () => null,
  narrowingOf: () => NO_NARROWING,
  narrowingAbove: () => NO_NARROWING,
  inheritedTimeout: ({ action }, { settings }) =>
    action.kind === 'delegate' ? Number.POSITIVE_INFINITY : settings.limits.timeoutMs,
  problems: () => [],
};

/** Returns the level of a tool itself. */
export function toOwnLevel(tool: Tool, settings: Level['settings'] = {}, narrowing?: Narrowing): Level {
  const { allowedTools = null, timeoutMs } = tool.traits;
  return { name: tool.name, owner: tool.origin.owner, allowedTools, timeoutMs, settings, narrowing };
}
