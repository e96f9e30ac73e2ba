// The one decision: may this plan run for this caller, and may its tool be named at all. Pure.

import { isRecord } from '../core/json.js';
import type { CommandPlan, Plan } from '../core/plan.js';
import type { AllowList, Policy, Rule } from '../core/rule.js';
import { matchSelector, matchSelectorTool, type SelectedTool, type Selector } from '../core/selector.js';
import { needsTrust, type Tool } from '../core/tool.js';
import type { Caller, Verdict } from '../core/toolbox.js';

/** What the decision depends on besides the plan and the caller. */
export interface Rules {
  /** Whether the workspace that the plan's code belongs to is trusted (POL-20). */
  readonly trusted: boolean;
  readonly policy: Policy;
  /** Lists of the tools that this call is made by: each must select it too (RUN-11). */
  readonly within: readonly AllowList[];
  /** What changed in the tool's definition since it was pinned, where it did (POL-21). */
  readonly changes?: readonly string[] | undefined;
  /** How its bytes differ from those that were installed, where they do: no model runs them (INS-23). */
  readonly altered?: { readonly reason: string; readonly hint: string } | undefined;
}

/** What is judged: a plan, or the tool and input of one that cannot be made here. */
export type Judged = Pick<Plan, 'tool' | 'input'> & { readonly command?: CommandPlan };

type Level = Verdict['verdict'];
type Matches = (selector: Selector) => boolean;
type Listing = Pick<Rules, 'policy' | 'within' | 'altered'>;

const STRICTNESS: Readonly<Record<Level, number>> = { allow: 0, ask: 1, deny: 2 };
// POL-12: reading what was already given to a model is no more than giving it.
const ALWAYS: readonly string[] = ['read_result', 'read_skill', 'skill-list', 'skill-describe'];
const ALLOWED: Verdict = Object.freeze({ verdict: 'allow', rule: null, reason: 'no rule names it' });

export function decide(plan: Judged, caller: Caller, rules: Rules): Verdict {
  const { tool } = plan;
  const ruling = hasRules(rules) ? judge(tool, rules, matchCall(plan)) : byDefault(tool);
  if (ruling.verdict === 'deny') return ruling;
  // A person who types the call consents by typing it; code that assembled the toolbox did so too (SCR-20).
  // A text runs nothing: a model may read it, as it may with `read_skill`.
  const runs = tool.action.kind !== 'text';
  if (caller.kind === 'model' && runs && needsTrust(tool) && !rules.trusted) {
    return {
      verdict: 'deny',
      rule: null,
      reason: 'the workspace is not trusted',
      code: 'needs_trust',
      hint: 'a person must look at its tools and run: wield trust',
    };
  }
  if (caller.kind === 'model' && rules.altered !== undefined) return alteration(rules.altered);
  if (rules.changes === undefined) return ruling;
  // Whoever is asked is shown what changed, whatever else they are asked for.
  const asking =
    ruling.verdict === 'ask'
      ? ruling
      : { verdict: 'ask' as const, rule: null, reason: 'its definition changed since it was approved' };
  return { ...asking, changes: rules.changes };
}

/**
 * Why a tool is denied to a caller whatever the input, or undefined where some call of it may run (POL-8). Rules
 * that cannot be read may have denied anything, so a model sees nothing then; a person sees what is there to mend.
 */
export function findDenial(tool: Tool, caller: Caller, rules: Listing): Verdict | undefined {
  // What an altered file says about itself counts for as little as what it does.
  if (rules.altered !== undefined && caller.kind === 'model') return alteration(rules.altered);
  if (!hasRules(rules) || (rules.policy.fault !== undefined && caller.kind !== 'model')) return undefined;
  const selected = toSelected(tool);
  // A rule that names arguments denies some calls, and allows some.
  const ruling = judge(tool, rules, (selector) =>
    selector.arguments.length > 0 && selector.policy === 'deny'
      ? false
      : matchSelectorTool(selector, selected),
  );
  return ruling.verdict === 'deny' ? ruling : undefined;
}

function alteration(altered: NonNullable<Rules['altered']>): Verdict {
  return { verdict: 'deny', rule: null, code: 'integrity', ...altered };
}

/** The rules of the configuration that are not about this call, for whoever asks why (POL-10). */
export function findUnmatched(plan: Judged, { policy }: Pick<Rules, 'policy'>): readonly Rule[] {
  const matches = matchCall(plan);
  const all = [...policy.lists.flatMap(({ rules }) => rules), ...policy.rules, ...policy.projectRules];
  return all.filter(({ selector }) => !matches(selector));
}

function matchCall(plan: Judged): Matches {
  const selected = toSelected(plan.tool);
  let input: unknown;
  return (selector) => {
    if (selector.arguments.length > 0) input ??= effectiveInput(plan);
    return matchSelector(selector, selected, input);
  };
}

// POL-4: what is left out is what the tool says it is then, and what a command's declaration makes of a value counts.
function effectiveInput({ tool, input, command }: Judged): unknown {
  if (!isRecord(input)) return input;
  const values = new Map(Object.entries(input));
  for (const { mapping, value } of command?.slots ?? [])
    if (value !== undefined) values.set(mapping.param, value);
  const { properties } = tool.input.json;
  for (const [name, schema] of isRecord(properties) ? Object.entries(properties) : [])
    if (!values.has(name) && isRecord(schema) && schema.default !== undefined)
      values.set(name, schema.default);
  return Object.fromEntries(values);
}

// A reserved tag is no tool's own to claim (RES-31). `#destructive` is also about tools that say it as a hint.
function toSelected({ name, traits, origin }: Tool): SelectedTool {
  const builtin = origin.builtin === true;
  const tags = builtin ? traits.tags : traits.tags.filter((tag) => !tag.startsWith('meta-'));
  return { name, tags: traits.destructive === true ? [...tags, 'destructive'] : tags, builtin };
}

/** Whether there is anything to look at; mostly there is not, and then a call costs nothing more. */
export function hasRules({ policy, within }: Listing): boolean {
  const { fault, lists, rules, projectRules } = policy;
  return fault !== undefined || lists.length + rules.length + projectRules.length + within.length > 0;
}

// Every list and every rule, by one way of matching; trust in the workspace is not looked at.
function judge(tool: Tool, rules: Listing, matches: Matches): Verdict {
  const { policy } = rules;
  if (policy.fault !== undefined) {
    return {
      verdict: 'deny',
      rule: null,
      reason: `the configuration cannot be read (${policy.fault})`,
      hint: 'mend that file; until then nothing runs',
    };
  }
  const lists = [...policy.lists, ...rules.within];
  const denial = findDeny(lists, policy, matches);
  if (denial !== undefined) return byRule('deny', denial);
  const always = tool.origin.builtin === true && ALWAYS.includes(tool.name);
  const listed: Verdict[] = [];
  for (const list of always ? [] : lists) {
    const verdict = byList(list, matches);
    if (verdict.verdict === 'deny') return verdict;
    listed.push(verdict);
  }
  const trusted = byTrustRules(tool, policy, matches);
  if (always && trusted.verdict !== 'deny') return { ...ALLOWED, reason: 'it is always allowed' };
  return strictest([trusted, ...listed]);
}

// POL-3: wherever it stands, and whatever stands before it.
function findDeny(lists: readonly AllowList[], policy: Policy, matches: Matches): Rule | undefined {
  for (const { rules } of lists) {
    for (const rule of rules) if (rule.selector.policy === 'deny' && matches(rule.selector)) return rule;
  }
  const denies = ({ selector }: Rule): boolean => selector.denies && matches(selector);
  return policy.rules.find(denies) ?? policy.projectRules.find(denies);
}

// POL-2: what a list does not select is not called. `$policy=ask` in it selects, and asks.
function byList({ of, rules, fault, file, line }: AllowList, matches: Matches): Verdict {
  const matching = rules.filter(({ selector }) => selector.policy !== 'deny' && matches(selector));
  const [rule] = matching;
  if (rule !== undefined) {
    const asking = matching.find(({ selector }) => selector.policy === 'ask');
    return asking ? byRule('ask', asking) : byRule('allow', rule);
  }
  return {
    verdict: 'deny',
    rule: null,
    reason: fault === undefined ? `${of} does not select it` : `${of} cannot be read: ${fault}`,
    ...toSource({ file, line }),
  };
}

// POL-5
function byTrustRules(tool: Tool, { rules, projectRules }: Policy, matches: Matches): Verdict {
  const first = (among: readonly Rule[]): Verdict | undefined => {
    const rule = among.find(({ selector }) => matches(selector));
    return rule && byRule(rule.selector.policy ?? 'ask', rule);
  };
  const above = first(rules) ?? byDefault(tool);
  const project = first(projectRules);
  return project === undefined ? above : strictest([above, project]);
}

function byDefault({ origin, traits }: Tool): Verdict {
  if (traits.destructive !== true || (origin.owner !== 'package' && origin.owner !== 'upstream'))
    return ALLOWED;
  return {
    verdict: 'ask',
    rule: null,
    reason: 'it says that it can destroy something, and no rule names it',
  };
}

// Of two that are as strict, one that a rule gave, and else the first.
function strictest(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((best, verdict) => {
    const by = STRICTNESS[verdict.verdict] - STRICTNESS[best.verdict];
    return by > 0 || (by === 0 && best.rule === null && verdict.rule !== null) ? verdict : best;
  });
}

const REASONS: Readonly<Record<Level, string>> = {
  allow: 'a rule allows it',
  ask: 'a rule asks first',
  deny: 'a rule denies it',
};

function byRule(verdict: Level, { selector, file, line }: Rule): Verdict {
  return {
    verdict,
    rule: selector.text,
    reason: `${REASONS[verdict]}: ${selector.text}`,
    ...toSource({ file, line }),
  };
}

function toSource({ file, line }: Pick<Rule, 'file' | 'line'>): Pick<Verdict, 'source'> {
  return file === null || line === null ? {} : { source: { file, line } };
}
