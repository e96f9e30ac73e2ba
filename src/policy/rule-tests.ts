// Tests of rules: what the policy must decide about a call, checked when the configuration is read (POL-43).

import { CALLERS, type Caller, type CallerName, type Verdict } from '../core/caller.js';
import type { JsonObject } from '../core/json.js';
import { IN_CODE } from '../core/origin.js';
import type { Policy } from '../core/rule.js';
import { quoteOutside } from '../core/text.js';
import { NO_TRAITS, type Tool } from '../core/tool.js';
import { decide } from './decide.js';
import { toRules, withLabels } from './rules.js';

export interface RuleTest {
  /** The name of a tool. */
  readonly call: string;
  readonly input?: JsonObject;
  readonly as?: CallerName;
  readonly user?: string;
  readonly groups?: readonly string[];
  /** Labels that entered the session before. */
  readonly after?: readonly string[];
  readonly expect: Verdict['verdict'];
}

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
  const { verdict, rule, reason, source } = decide({ tool: toNamed(call), input }, caller, rules);
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

// Rules decide by name: the tool need not exist, and its marks and place make no difference.
function toNamed(name: string): Tool {
  return {
    name,
    description: '',
    input: { json: {}, check: async (value) => ({ ok: true, value }) },
    action: { kind: 'function', run: () => null },
    origin: IN_CODE,
    traits: NO_TRAITS,
  };
}
