// A skill: a directory with a text that tells a model how to do something.

import type { Json } from './json.js';
import type { Owner } from './tool.js';

export interface Skill {
  readonly name: string;
  /** One or a few lines: when to use it. */
  readonly description: string;
  /** Absolute path of its `SKILL.md`. */
  readonly file: string;
  readonly directory: string;
  readonly owner: Owner;
  /** What it says it may call; null where it does not say. */
  readonly allowedTools: readonly string[] | null;
  readonly metadata: Readonly<Record<string, Json>>;
  /** Not listed and not told to a model (RES-20). */
  readonly hidden: boolean;
  /** Normalised (RES-30). */
  readonly tags: readonly string[];
  /** The reference of the tool that runs when it is called; null where it answers with its text or runs code. */
  readonly delegate: string | null;
  /** The skills whose settings it takes after its authority's; `false` takes none, null says nothing (RES-17). */
  readonly inherit: readonly string[] | false | null;
  readonly timeoutMs?: number;
  /** Where the text begins in the file, in characters. */
  readonly start: number;
  /** What its text refers to (SKL-5). */
  readonly references: readonly TextReference[];
}

/** `:tool[ref]` or `:skill[ref]` in a text, inline or as a block. */
export interface TextReference {
  readonly kind: 'tool' | 'skill';
  readonly ref: string;
}
