// What a session has read: whether rules depend on it, the preset, and the words for it. Pure.

import type { Verdict } from '../core/caller.js';
import type { EnteredLabel } from '../core/label.js';
import { memoize } from '../core/memoize.js';
import { type Policy, type Rule, rulesOf } from '../core/rule.js';
import { parseSelectors, type Selector } from '../core/selector.js';
import { quoteOutside } from '../core/text.js';
import type { Matches } from './match.js';
import type { Rules } from './rules.js';

// FLW-6: private content must not get out of a session that others can have written instructions into.
const TRIFECTA = '#egress($after=private+untrusted)';
let parsedTrifecta: Selector | undefined;

/** Whether a decision depends on what the session has read. */
export function dependsOnLabels({
  policy,
  within,
  inherited,
}: Pick<Rules, 'policy' | 'within' | 'inherited'>): boolean {
  return policyDepends(policy) || [...within, ...inherited].some(({ rules }) => rules.some(isAfter));
}

// Most configurations have no such rule, and every call asks.
const policyDepends = memoize((policy: Policy): boolean => {
  const all = [...policy.lists.flatMap((list) => list.rules), ...rulesOf(policy)];
  return policy.trifecta !== undefined || all.some(isAfter);
});

function isAfter({ selector }: Rule): boolean {
  return selector.after.length > 0;
}

/** Returns the verdict of the preset; undefined if it does not apply, or a rule allows exactly such arguments (FLW-6). */
export function byTrifecta({ trifecta, rules }: Policy, matches: Matches): Verdict | undefined {
  if (trifecta === undefined) return undefined;
  parsedTrifecta ??= parseSelectors(TRIFECTA)[0]!;
  if (!matches(parsedTrifecta)) return undefined;
  const first = rules.find(({ selector }) => matches(selector))?.selector;
  if (first?.policy === 'allow' && first.arguments.length > 0) return undefined;
  const reason = `it sends something out, and flow.trifecta ${trifecta === 'ask' ? 'asks first' : 'denies that'}`;
  return { verdict: trifecta, rule: null, reason, after: parsedTrifecta.after };
}

/** Adds to a verdict what of the session it depends on. */
export function withEntered(verdict: Verdict, entered: readonly EnteredLabel[], now: number): Verdict {
  const { after, reason } = verdict;
  return after === undefined ? verdict : { ...verdict, reason: `${reason}; ${describeEntered(entered, after, now)}` };
}

const DAY_MS = 24 * 3_600_000;

// Such as: this session read untrusted content from fetch_page at 10:32 UTC.
function describeEntered(entered: readonly EnteredLabel[], labels: readonly string[], now: number): string {
  const parts = labels.flatMap((label) => {
    const found = entered.find((one) => one.label === label);
    if (found === undefined) return [];
    const [date, time] = new Date(found.at).toISOString().split('T') as [string, string];
    const day = now - found.at < DAY_MS ? '' : `on ${date} `;
    return [`${label} content from ${quoteOutside(found.tool, 64)} ${day}at ${time.slice(0, 5)} UTC`];
  });
  return `this session read ${parts.join(', and ')}`;
}
