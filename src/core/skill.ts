// Skills, instructions for a model, and what tools inherit from the skills that govern them.

import type { Json } from './json.js';
import type { MiddlewareSettings } from './middleware-settings.js';
import type { Owner } from './origin.js';
import type { Problem } from './problem.js';
import type { Requirements } from './requirements.js';
import type { PathEntry } from './search-path.js';
import type { Snapshot } from './snapshot.js';
import type { Tool } from './tool.js';

/** Instructions for a model, with settings for the tools that they govern. */
export interface Skill {
  /** The name of the skill. */
  readonly name: string;
  /** One or a few lines: when to use it. */
  readonly description: string;
  /** Absolute path of its `SKILL.md`, or of the Markdown file. */
  readonly file: string;
  /** The directory of that file. */
  readonly directory: string;
  /** The owner of its files. */
  readonly owner: Owner;
  /** Selectors of the tools it may call; null if not declared. */
  readonly allowedTools: readonly string[] | null;
  /** Other fields of its frontmatter. */
  readonly metadata: Readonly<Record<string, Json>>;
  /** Not listed, and not shown to models (RES-20). */
  readonly hidden: boolean;
  /** Normalized (RES-30). */
  readonly tags: readonly string[];
  /** Reference of the tool that runs when the skill is called; null if it returns its text or runs code. */
  readonly delegate: string | null;
  /** Skills whose settings apply after those of its authority; `false`: none, null: not declared (RES-17). */
  readonly inherit: readonly string[] | false | null;
  /** Time limit of the tools it governs. */
  readonly timeoutMs?: number;
  /** Rules for calls of the tools it governs and for calls that it makes; they only restrict (RES-44). */
  readonly trust?: SkillRules;
  /** Middleware around calls of the tools it governs: rate limits only (RES-44). */
  readonly middleware?: readonly MiddlewareSettings[];
  /** The part of the search path that the tools it governs find tools in (RES-44). */
  readonly paths?: readonly PathEntry[];
  /** What it says must be there (SKL-16). */
  readonly requires?: Requirements;
  /** Offset of the text in the file, in characters. */
  readonly start: number;
  /** References in its text (SKL-5). */
  readonly references: readonly TextReference[];
  /** Whether it is the text of an agent, which is also a prompt (RSC-22). */
  readonly agent?: true;
  /** Its scripts, which are tools (SKL-13). */
  readonly scripts?: readonly SkillScript[];
  /** Of an installed skill: the path of its directory in its source (SKL-15). */
  readonly sourcePath?: string;
  /** Of an installed skill: the directory of its plugin, if that is installed too (SKL-17). */
  readonly plugin?: string;
}

/** The directory in an installed skill with files of its source that it names outside of its own directory (INS-89). */
export const NAMED_FILES = '.source';

// `${CLAUDE_PLUGIN_ROOT}/`, `$SKILL_DIR/`, `{baseDir}/`, `<skill-dir>/`, also in quotes of their own.
const PLACEHOLDERS = /["']?(?:\$\{\w{1,60}\}|\$\w{1,60}|\{\{?\w{1,60}\}?\}|<[\w -]{1,60}>)["']?\//g;

/** Removes the names of directories that an agent fills in before a path: that of the skill, or of its plugin. */
export function withoutPlaceholders(text: string): string {
  return text.replace(PLACEHOLDERS, ' ');
}

export interface SkillScript {
  /** Relative to the directory of the skill. */
  readonly path: string;
  /** Name of the tool. */
  readonly tool: string;
}

/** A skill of an upstream server, read through the server (SKL-14). */
export interface RemoteSkill {
  /** `<server>_<path>`. */
  readonly name: string;
  readonly description: string;
  readonly server: string;
  /** Reads its `SKILL.md`. */
  readonly tool: Tool;
  /** The URI of its directory. */
  readonly directory: string;
  /** `dynamic` if the server does not list them. */
  readonly files: readonly RemoteSkillFile[] | 'dynamic';
  /** Whether its server may be started. */
  readonly isStartable: boolean;
}

export interface RemoteSkillFile {
  /** Relative to the directory of the skill. */
  readonly path: string;
  readonly size: number;
  readonly uri: string;
}

/** Whether a skill is a directory with a `SKILL.md`, and not a file beside others (SKL-7). */
export function isSkillDirectory({ file }: Pick<Skill, 'file'>): boolean {
  return file.endsWith('/SKILL.md');
}

/** `metadata.trust` of a skill. */
export interface SkillRules {
  readonly rules: readonly string[];
  /** The line of the rules in the file; null if it is not known. */
  readonly line: number | null;
  /** Why the rules cannot be used; then nothing that they apply to runs (POL-9). */
  readonly fault?: string;
}

/** `:tool[ref]` or `:skill[ref]` in a text, inline or as a block. */
export interface TextReference {
  readonly kind: 'tool' | 'skill';
  readonly ref: string;
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

/** One array for all tools without any, so that what is derived from it can be cached. */
export const NO_NARROWING: readonly Narrowing[] = Object.freeze([]);

/** The replacement of a reference. */
export interface Referent {
  readonly name: string;
  /** Description on one line. */
  readonly line: string;
}
