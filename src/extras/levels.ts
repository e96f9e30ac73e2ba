// The cascade: combines the settings of a tool, its authority and the skills it inherits from.

import type { Json } from '../core/json.js';
import type { Owner } from '../core/origin.js';
import { type Cascade, type CascadeResolver, type Narrowing, NO_NARROWING, type Skill } from '../core/skill.js';
import type { Tool } from '../core/tool.js';

/** The settings of one tool or skill. */
export interface Level {
  /** What it is the level of. */
  readonly key: string;
  /** Name for display. */
  readonly name: string;
  readonly owner: Owner;
  readonly allowedTools: readonly string[] | null;
  readonly timeoutMs?: number;
  readonly settings: Readonly<Record<string, Json>>;
  /** What the skill of this level declares; undefined if there is nothing (RES-44). */
  readonly narrowing?: Narrowing;
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
  const every = distinct([...levels, ...limiting]);
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

// A skill can be reached in several ways.
function distinct(levels: readonly Level[]): Level[] {
  const keys = levels.map(({ key }) => key);
  return levels.filter(({ key }, at) => keys.indexOf(key) === at);
}

function collectNarrowing(levels: readonly Level[]): readonly Narrowing[] {
  const found = levels.flatMap(({ narrowing }) => narrowing ?? []);
  return found.length === 0 ? NO_NARROWING : found;
}

/** Returns what a skill restricts: the skill itself, or undefined if it restricts nothing. */
export function toNarrowing(skill: Skill): Narrowing | undefined {
  const { trust, middleware, paths } = skill;
  return trust === undefined && middleware === undefined && paths === undefined ? undefined : skill;
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

export function toOwnLevel(tool: Tool, settings: Level['settings'] = {}, narrowing?: Narrowing): Level {
  const { allowedTools = null, timeoutMs } = tool.traits;
  return {
    key: `tool ${tool.origin.uri ?? tool.name}`,
    name: tool.name,
    owner: tool.origin.owner,
    allowedTools,
    timeoutMs,
    settings,
    narrowing,
  };
}
