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
}
