// Rules, allow lists and the policy made of them.

import { ToolError } from './error.js';
import { memoize } from './memoize.js';
import type { Selector } from './selector.js';

export interface Rule {
  readonly selector: Selector;
  /** The file; null if the rule is not from a file. */
  readonly file: string | null;
  readonly line: number | null;
}

/** Rules from one place, such as `allowed-tools` of a file or `trust.rules` of a skill. */
export interface RuleList {
  /** Used in messages: `allowed-tools`, `allowed-tools of the tool agent`. */
  readonly of: string;
  readonly rules: readonly Rule[];
  readonly file: string | null;
  readonly line: number | null;
  /** Why it is invalid; an invalid list allows nothing (POL-9). */
  readonly fault?: string;
}

/** An `allowed-tools` list: only calls it selects are allowed. */
export type AllowList = RuleList;

/** The tools that a file gives a label. */
export interface LabelRules {
  readonly label: string;
  readonly rules: readonly Rule[];
}

/** The rules of the configuration. */
export interface Policy {
  /** Why the rules are invalid; then nothing runs (POL-9). */
  readonly fault: string | undefined;
  /** Each list must select a call, so that a lower layer only narrows (POL-2). */
  readonly lists: readonly AllowList[];
  /** `trust.rules` of the managed and the user's file; the first match decides (POL-5). */
  readonly rules: readonly Rule[];
  /** `trust.rules` of the project, which can only be stricter. */
  readonly projectRules: readonly Rule[];
  /** Labels that the files add to tools (FLW-2). */
  readonly labels?: readonly LabelRules[];
  /** What an egress tool needs in a session with private and untrusted content (FLW-6). */
  readonly trifecta?: 'ask' | 'deny' | undefined;
  /** Rules of the profile in use, per layer, which can only be stricter (POL-24). */
  readonly profileRules?: readonly (readonly Rule[])[];
}

/** Returns all rules of a policy besides its lists. */
export const rulesOf = memoize(({ rules, projectRules, profileRules = [] }: Policy): readonly Rule[] => [
  ...rules,
  ...projectRules,
  ...profileRules.flat(),
]);

/** The policy of a toolbox without configuration. */
export const NO_POLICY: Policy = Object.freeze({
  fault: undefined,
  lists: Object.freeze([]),
  rules: Object.freeze([]),
  projectRules: Object.freeze([]),
});

/** Throws `denied` if the configuration is invalid: what it restricts may not have been read (POL-9). */
export function assertConfiguration({ fault }: Pick<Policy, 'fault'>): void {
  if (fault !== undefined) throw invalidConfiguration(fault);
}

export function invalidConfiguration(fault: string): ToolError {
  return new ToolError('denied', `the configuration is invalid (${fault})`, {
    hint: 'fix that file; until then nothing runs',
  });
}
