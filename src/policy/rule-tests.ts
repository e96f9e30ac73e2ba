// Tests of rules: what the policy must decide about a call, checked when the configuration is read (POL-43).

import { toMadeUpTool } from '../core/any-tool.js';
import { CALLERS, type Caller, type CallerName, type Verdict } from '../core/caller.js';
import type { JsonObject } from '../core/json.js';
import type { Policy } from '../core/rule.js';
import { type Infer, object, oneOf, optional, strings, table, text } from '../core/shape.js';
import { quoteOutside } from '../core/text.js';
import { decide } from './decide.js';
import { toRules, withLabels } from './rules.js';

/** What rules must decide about a call of a tool, by its name; `after`: labels that entered the session before. */
export const RULE_TEST = object({
  call: text('the name of a tool'),
  input: optional(table),
  as: optional(oneOf(...(Object.keys(CALLERS) as CallerName[]))),
  user: optional(text('the name of a user')),
  groups: optional(strings),
  after: optional(strings),
  expect: oneOf<Verdict['verdict']>('allow', 'ask', 'deny'),
});

export type RuleTest = Infer<typeof RULE_TEST>;

/** Returns what is wrong if the policy decides something else than a test expects. */
export function findTestFault(test: RuleTest, policy: Policy, now: number): string | undefined {
  const { call, input = {}, as = 'mcp', user, groups, after = [], expect } = test;
  const caller: Caller = {
    ...CALLERS[as],
    ...(user !== undefined && { user }),
    ...(groups !== undefined && { groups }),
  };
  const entered = after.map((label) => ({ label, tool: 'another tool', at: now }));
  const rules = withLabels(toRules({ policy, now, user: { user, groups }, trusted: true }), entered);
  // Rules decide by name: the tool need not exist, and its marks and place make no difference.
  const plan = { tool: toMadeUpTool(call), input: input as JsonObject };
  const { verdict, rule, reason, source } = decide(plan, caller, rules);
  if (verdict === expect) return undefined;
  const by =
    rule === null
      ? reason
      : `${quoteOutside(rule, 200)}${source === undefined ? '' : ` (${source.file}:${source.line})`}`;
  return `the test of ${describe(test)} expects ${expect}, and the rules decide ${verdict}: ${by}`;
}

function describe({ call, input, as = 'mcp', user, groups, after }: RuleTest): string {
  const given = input === undefined ? '' : ` ${quoteOutside(JSON.stringify(input), 200)}`;
  const who = user === undefined ? '' : `, user ${quoteOutside(user, 60)}`;
  const of = groups === undefined ? '' : `, groups ${quoteOutside(groups.join(', '), 100)}`;
  const read = after === undefined ? '' : `, after ${quoteOutside(after.join(' and '), 100)}`;
  return `${quoteOutside(call, 60)}${given} as ${as}${who}${of}${read}`;
}
