// Rules of skills and of nested calls, each list parsed once: `allowed-tools` (SKL-4) and `trust.rules` (RES-44).

import { isToolError } from '../core/error.js';
import type { AllowList, RuleList } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';
import type { Narrowing } from '../core/skill.js';

const known = new WeakMap<readonly string[], AllowList>();
const knownRules = new WeakMap<Narrowing, RuleList>();

/** Returns the lists for calls that a tool makes: its own, and those of the calls around it (RUN-11). */
export function listsWithin(
  name: string,
  permissions: readonly (readonly string[])[],
  outer: readonly AllowList[],
): readonly AllowList[] {
  if (permissions.length === 0) return outer;
  return [...outer, ...permissions.map((texts) => listOf(name, texts))];
}

function listOf(name: string, texts: readonly string[]): AllowList {
  let list = known.get(texts);
  if (list === undefined) {
    list = readList(`allowed-tools of ${name}`, texts, { file: null, line: null });
    known.set(texts, list);
  }
  return list;
}

/** Returns the rules of skills that apply to a call besides those of the configuration (RES-44). */
export function toRuleLists(narrowing: readonly Narrowing[]): readonly RuleList[] {
  return narrowing.flatMap((one) => (one.trust === undefined ? [] : [rulesOf(one)]));
}

function rulesOf(narrowing: Narrowing): RuleList {
  let list = knownRules.get(narrowing);
  if (list === undefined) {
    const { name, file, trust } = narrowing;
    const { rules = [], line = null, fault } = trust ?? {};
    const of = `trust.rules of ${name}`;
    list = fault === undefined ? readList(of, rules, { file, line }) : { of, rules: [], fault, file, line };
    knownRules.set(narrowing, list);
  }
  return list;
}

function readList(of: string, texts: readonly string[], place: Pick<RuleList, 'file' | 'line'>): RuleList {
  try {
    return { of, rules: parseSelectors(texts).map((selector) => ({ selector, ...place })), ...place };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return { of, rules: [], fault: error.message, ...place };
  }
}
