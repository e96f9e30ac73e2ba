// Skill: instructions for a model, in a directory or a file.

import type { Json } from './json.js';
import type { MiddlewareSettings } from './middleware.js';
import type { PathEntry } from './search-path.js';
import type { Owner } from './tool.js';

export interface Skill {
  readonly name: string;
  /** One or a few lines: when to use it. */
  readonly description: string;
  /** Absolute path of its `SKILL.md`, or of the Markdown file. */
  readonly file: string;
  /** The directory of that file. */
  readonly directory: string;
  readonly owner: Owner;
  /** Selectors of the tools it may call; null if not declared. */
  readonly allowedTools: readonly string[] | null;
  readonly metadata: Readonly<Record<string, Json>>;
  /** Not listed, and not shown to models (RES-20). */
  readonly hidden: boolean;
  /** Normalized (RES-30). */
  readonly tags: readonly string[];
  /** Reference of the tool that runs when the skill is called; null if it returns its text or runs code. */
  readonly delegate: string | null;
  /** Skills whose settings apply after those of its authority; `false`: none, null: not declared (RES-17). */
  readonly inherit: readonly string[] | false | null;
  readonly timeoutMs?: number;
  /** Rules for calls of the tools it governs and for calls that it makes; they only restrict (RES-44). */
  readonly trust?: SkillRules;
  /** Middleware around calls of the tools it governs: rate limits only (RES-44). */
  readonly middleware?: readonly MiddlewareSettings[];
  /** The part of the search path that the tools it governs find tools in (RES-44). */
  readonly paths?: readonly PathEntry[];
  /** Offset of the text in the file, in characters. */
  readonly start: number;
  /** References in its text (SKL-5). */
  readonly references: readonly TextReference[];
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
