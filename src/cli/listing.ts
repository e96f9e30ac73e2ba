// What `wield list` shows, as data that can be kept for the next run.

import type { Problem } from '../core/problem.js';

/** A tool as `--json` prints it. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly format: string;
  readonly server: string | null;
  readonly group: string | null;
  readonly tags: readonly string[];
  readonly hidden: boolean;
  readonly readOnly: boolean | null;
  readonly destructive: boolean | null;
  readonly shadowedBy: string | null;
  readonly deniedBy: string | null;
  readonly untrusted: boolean;
  readonly changed: boolean;
  readonly uri: string | null;
}

export interface ListedSkill {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly uri: string;
  readonly hidden: boolean;
  readonly tags: readonly string[];
}

/** Everything that any flags of `wield list` show. */
export interface Listed {
  /** Tools that can be called, then denied ones, then shadowed ones. */
  readonly tools: readonly ListedTool[];
  readonly skills: readonly ListedSkill[];
  readonly problems: readonly Problem[];
  /** Servers that are not started because the workspace is not trusted. */
  readonly unstarted: number;
}
