// The inputs of a decision, made from a snapshot by one function, so that calls, listings and explanations agree.

import { isToolError } from '../core/error.js';
import type { EnteredLabel } from '../core/label.js';
import { memoize } from '../core/memoize.js';
import type { AllowList, Policy, RuleList } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';
import type { UserOf } from '../core/selector-terms.js';
import type { Narrowing } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';

/** Inputs of a decision besides the plan and the caller. */
export interface Rules {
  readonly policy: Policy;
  /** Wall clock in milliseconds. */
  readonly now: number;
  /** Whom rules with `$user=` and `$group=` are about. */
  readonly user: UserOf;
  /** What entered the session of the call; empty where it makes no difference (FLW-4). */
  readonly entered: readonly EnteredLabel[];
  /** The names of these labels. */
  readonly labels: readonly string[];
  /** Whether the workspace that the plan's code belongs to is trusted (POL-20). */
  readonly trusted: () => boolean;
  /** The workspace, to name it. */
  readonly workdir?: string | undefined;
  /** Lists of the tools that make this call; each must select it too (RUN-11). */
  readonly within: readonly AllowList[];
  /** Rules of the skills that govern the tool or make this call; they only restrict (RES-44). */
  readonly inherited: readonly RuleList[];
  /** Changes of the tool's definition since it was pinned (POL-21). */
  readonly changes?: readonly string[] | undefined;
  /** How its bytes differ from the installed ones; models cannot run it then (INS-23). */
  readonly altered?: { readonly reason: string; readonly hint: string } | undefined;
}

export interface RulesOptions extends Pick<Rules, 'changes' | 'altered'>, Partial<Pick<Rules, 'within'>> {
  /** What the skills that govern the tool or make this call restrict. */
  readonly narrowing?: readonly Narrowing[];
  /** Trusts the workspace for this call alone (POL-22). */
  readonly trust?: boolean;
}

export function toRules(
  snapshot: Pick<Snapshot, 'policy' | 'now' | 'user' | 'trusted'> & Partial<Pick<Snapshot, 'workdir'>>,
  { within = [], narrowing = [], trust = false, changes, altered }: RulesOptions = {},
): Rules {
  const { policy, now, user, workdir } = snapshot;
  return {
    policy,
    now,
    user,
    workdir,
    within,
    inherited: narrowing.flatMap(toRuleLists),
    entered: [],
    labels: [],
    changes,
    altered,
    // Read from files, and few decisions need it.
    trusted: () => trust || snapshot.trusted,
  };
}

/** Returns the rules of a call in a session that these labels entered. */
export function withLabels(rules: Rules, entered: readonly EnteredLabel[]): Rules {
  return { ...rules, entered, labels: entered.map(({ label }) => label) };
}

/** Returns the lists for calls that a tool makes: its own, and those of the calls around it (RUN-11). */
export function listsWithin(
  name: string,
  permissions: readonly (readonly string[])[],
  outer: readonly AllowList[],
): readonly AllowList[] {
  const of = `allowed-tools of ${name}`;
  return [...outer, ...permissions.map((texts) => ({ of, file: null, line: null, ...readRules(texts) }))];
}

function toRuleLists({ name, file, trust }: Narrowing): readonly RuleList[] {
  if (trust === undefined) return [];
  const { rules, line, fault } = trust;
  const read = fault === undefined ? readRules(rules) : { rules: [], fault };
  const placed = read.rules.map((rule) => ({ ...rule, file, line }));
  return [{ of: `trust.rules of ${name}`, file, line, ...read, rules: placed }];
}

// A listing needs the rules of a skill for every tool below it.
const readRules = memoize((texts: readonly string[]): Pick<RuleList, 'rules' | 'fault'> => {
  try {
    return { rules: parseSelectors(texts).map((selector) => ({ selector, file: null, line: null })) };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return { rules: [], fault: error.message };
  }
});
