// Rules: selectors with the place they stand at, lists that a call must be in, and all of them as one policy.

import type { Selector } from './selector.js';

export interface Rule {
  readonly selector: Selector;
  /** Where it is written; null where it came from no file. */
  readonly file: string | null;
  readonly line: number | null;
}

/** An `allowed-tools`: what it does not select is not called. */
export interface AllowList {
  /** Whose it is, for a sentence: `allowed-tools`, `allowed-tools of the tool agent`. */
  readonly of: string;
  readonly rules: readonly Rule[];
  readonly file: string | null;
  readonly line: number | null;
  /** Why it cannot be read, where that is so: then it selects nothing (POL-9). */
  readonly fault?: string;
}

/** What the configuration says about calls, read once for each state of its files. */
export interface Policy {
  /** Why the rules themselves cannot be read, where that is so: then nothing runs (POL-9). */
  readonly fault: string | undefined;
  /** Every one must select a call, so that a lower layer only narrows (POL-2). */
  readonly lists: readonly AllowList[];
  /** `trust.rules` of the managed and the user's file: the first that matches counts (POL-5). */
  readonly rules: readonly Rule[];
  /** `trust.rules` of the project: they count only where they are stricter. */
  readonly projectRules: readonly Rule[];
}

/** The policy of a toolbox that has no configuration. */
export const NO_POLICY: Policy = Object.freeze({
  fault: undefined,
  lists: Object.freeze([]),
  rules: Object.freeze([]),
  projectRules: Object.freeze([]),
});
