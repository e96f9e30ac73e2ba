// Decides whether a plan may run for a caller, and whether its tool may be named. Pure.

import type { Caller, Verdict } from '../core/caller.js';
import { type AllowList, type Policy, type Rule, type RuleList, rulesOf } from '../core/rule.js';
import { quoteOutside, quoteWord } from '../core/text.js';
import { needsTrust, type Tool } from '../core/tool.js';
import { CALL_TOOL, DESCRIBE_TOOL, RUN_CODE, RUN_SKILL_SCRIPT, SEARCH_TOOLS } from '../core/view.js';
import { byTrifecta, withEntered } from './flow.js';
import { type Judged, type Matches, matchAnyCall, matchCall } from './match.js';
import type { Rules } from './rules.js';

type Level = Verdict['verdict'];

const STRICTNESS: Readonly<Record<Level, number>> = { allow: 0, ask: 1, deny: 2 };
// POL-12: these return only what the model was already given.
// The calls that `call_tool`, `run_skill_script` and programs make are decided on like any other (SRV-9, COD-8).
const ALWAYS: readonly string[] = [
  'read_result',
  'query_result',
  'read_skill',
  'skill-list',
  'skill-describe',
  SEARCH_TOOLS,
  DESCRIBE_TOOL,
  CALL_TOOL,
  RUN_SKILL_SCRIPT,
  RUN_CODE,
];
// The seed's manager of a conversation: a skill's `allowed-tools` need not name it (POL-15).
const CONTEXT_MANAGER = 'context-manager';
const ALLOWED: Verdict = Object.freeze({ verdict: 'allow', rule: null, reason: 'by default' });

export function decide(plan: Judged, caller: Caller, rules: Rules): Verdict {
  const { tool } = plan;
  const ruling = hasRules(rules) ? judgeInSession(plan, caller, rules) : byDefault(tool, caller);
  if (ruling.verdict === 'deny') return ruling;
  // A person or a program consents by calling (SCR-20). A text tool runs nothing.
  const runs = tool.action.kind !== 'text';
  if (caller.kind === 'model' && runs && needsTrust(tool) && !rules.trusted()) {
    return {
      verdict: 'deny',
      rule: null,
      reason: 'the workspace is not trusted',
      code: 'needs_trust',
      hint: `a person must review its tools and run: wield trust${rules.workdir === undefined ? '' : ` ${quoteWord(quoteOutside(rules.workdir, 300))}`}`,
    };
  }
  if (caller.kind === 'model' && rules.altered !== undefined) return alteration(rules.altered);
  if (rules.changes === undefined) return ruling;
  // The question shows the changes, even if a rule asks anyway.
  const asking =
    ruling.verdict === 'ask'
      ? ruling
      : { verdict: 'ask' as const, rule: null, reason: 'its definition changed since it was approved' };
  return { ...asking, changes: rules.changes };
}

/**
 * Returns why a tool is denied to a caller with any input; undefined if some call may run (POL-8). If the rules cannot
 * be read, a model sees no tools; a person sees them all.
 */
export function findDenial(tool: Tool, caller: Caller, rules: Rules): Verdict | undefined {
  if (rules.altered !== undefined && caller.kind === 'model') return alteration(rules.altered);
  if (!hasRules(rules)) return undefined;
  if (rules.policy.fault !== undefined && caller.kind !== 'model') return undefined;
  const ruling = judge(tool, caller, rules, matchAnyCall(tool, rules));
  return ruling.verdict === 'deny' ? ruling : undefined;
}

// FLW-4: what a session has read never allows more than a session that has read nothing may do.
function judgeInSession(plan: Judged, caller: Caller, rules: Rules): Verdict {
  const { tool } = plan;
  const { entered, now } = rules;
  if (entered.length === 0) return judge(tool, caller, rules, matchCall(plan, rules));
  const before = judge(tool, caller, rules, matchCall(plan, { ...rules, labels: [] }));
  const after = judge(tool, caller, rules, matchCall(plan, rules));
  return withEntered(strictest([before, after]), entered, now);
}

function alteration(altered: NonNullable<Rules['altered']>): Verdict {
  return { verdict: 'deny', rule: null, code: 'integrity', ...altered };
}

/** Returns the rules of the configuration that do not match a call (POL-10). */
export function findUnmatched(plan: Judged, given: Rules): readonly Rule[] {
  const { policy, inherited } = given;
  const matches = matchCall(plan, given);
  const all = [...[...policy.lists, ...inherited].flatMap((list) => list.rules), ...rulesOf(policy)];
  return all.filter(({ selector }) => !matches(selector));
}

// Most calls have none.
function hasRules({ policy, within, inherited }: Rules): boolean {
  if (policy.fault !== undefined || policy.trifecta !== undefined) return true;
  return policy.lists.length + within.length + inherited.length > 0 || rulesOf(policy).length > 0;
}

// Applies all lists and rules; does not check trust in the workspace.
function judge(tool: Tool, caller: Caller, rules: Rules, matches: Matches): Verdict {
  const { policy, within, inherited } = rules;
  if (policy.fault !== undefined) {
    return {
      verdict: 'deny',
      rule: null,
      reason: `the configuration is invalid (${policy.fault})`,
      hint: 'fix that file; until then nothing runs',
    };
  }
  const unreadable = inherited.find(({ fault }) => fault !== undefined);
  if (unreadable !== undefined) return byFault(unreadable);
  const denial = findDeny([...policy.lists, ...within], policy, inherited, matches);
  if (denial !== undefined) {
    const list = [...within, ...inherited].find((one) => one.rules.includes(denial));
    return list === undefined ? byRule('deny', denial) : bySkill(byRule('deny', denial), list);
  }
  const lists = tool.name === CONTEXT_MANAGER ? policy.lists : [...policy.lists, ...within];
  const always = tool.origin.builtin === true && ALWAYS.includes(tool.name);
  const listed: Verdict[] = [];
  for (const list of always ? [] : lists) {
    const verdict = byList(list, matches);
    if (verdict.verdict === 'deny') return within.includes(list) ? bySkill(verdict, list) : verdict;
    listed.push(verdict);
  }
  const trusted = byTrustRules(policy, inherited, matches, () => byDefault(tool, caller));
  if (always && trusted.verdict !== 'deny') return { ...ALLOWED, reason: 'it is always allowed' };
  const flow = byTrifecta(policy, matches);
  return strictest(flow === undefined ? [trusted, ...listed] : [trusted, ...listed, flow]);
}

// POL-3: the order of rules does not matter.
function findDeny(
  lists: readonly AllowList[],
  policy: Policy,
  inherited: readonly RuleList[],
  matches: Matches,
): Rule | undefined {
  for (const { rules } of lists) {
    for (const rule of rules) if (rule.selector.policy === 'deny' && matches(rule.selector)) return rule;
  }
  const denies = ({ selector }: Rule): boolean => selector.denies && matches(selector);
  return [...rulesOf(policy), ...inherited.flatMap(({ rules }) => rules)].find(denies);
}

// POL-2: denies what the list does not select. `$policy=ask` selects and asks.
function byList(list: AllowList, matches: Matches): Verdict {
  const { of, rules, fault, file, line } = list;
  const rule = rules.find(({ selector }) => selector.policy !== 'deny' && matches(selector, 'every'));
  if (rule !== undefined) {
    const asking = rules.find(({ selector }) => selector.policy === 'ask' && matches(selector, 'any'));
    return asking ? byRule('ask', asking) : byRule('allow', rule);
  }
  if (fault !== undefined) return byFault(list);
  return { verdict: 'deny', rule: null, reason: `${of} does not select it`, source: toSource({ file, line }) };
}

function byFault({ of, fault, file, line }: RuleList): Verdict {
  return { verdict: 'deny', rule: null, reason: `${of} cannot be read: ${fault}`, source: toSource({ file, line }) };
}

// POL-36: skills and tools only restrict, so that no configuration allows what they deny.
function bySkill(verdict: Verdict, { of }: RuleList): Verdict {
  const { source } = verdict;
  const where = source === undefined ? of : `${quoteOutside(source.file, 300)}:${source.line}`;
  return { ...verdict, hint: `no configuration can allow it, only a change of ${where}` };
}

// POL-5. Rules of the project, a profile and skills count only if they are stricter.
function byTrustRules(
  { rules, projectRules, profileRules = [] }: Policy,
  inherited: readonly RuleList[],
  matches: Matches,
  standard: () => Verdict,
): Verdict {
  const first = (among: readonly Rule[]): Verdict | undefined => {
    const rule = among.find(({ selector }) => matches(selector));
    return rule && byRule(rule.selector.policy ?? 'ask', rule);
  };
  const above = first(rules) ?? standard();
  const lower = [projectRules, ...profileRules, ...inherited.map((list) => list.rules)];
  const below = lower.flatMap((among) => first(among) ?? []);
  return below.length === 0 ? above : strictest([above, ...below]);
}

function byDefault({ origin: { owner }, traits }: Tool, { kind }: Caller): Verdict {
  const asks = kind === 'model' || owner === 'package' || owner === 'upstream';
  if (traits.destructive !== true || !asks) return ALLOWED;
  return {
    verdict: 'ask',
    rule: null,
    reason: 'it is marked as destructive, and no rule matches it',
  };
}

// Of equally strict verdicts, prefers one that depends on the session, then one that a rule gave, then the first.
function strictest(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((best, verdict) => {
    const by = STRICTNESS[verdict.verdict] - STRICTNESS[best.verdict];
    return by > 0 || (by === 0 && weightOf(verdict) > weightOf(best)) ? verdict : best;
  });
}

function weightOf({ after, rule }: Verdict): number {
  if (after !== undefined) return 2;
  return rule === null ? 0 : 1;
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
    ...(selector.after.length === 0 ? {} : { after: selector.after }),
    source: toSource({ file, line }),
  };
}

function toSource({ file, line }: Pick<Rule, 'file' | 'line'>): Verdict['source'] {
  return file === null || line === null ? undefined : { file, line };
}
