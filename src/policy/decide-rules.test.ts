// Tests of single decisions: which rule, list, default or state of a tool decides.

import { expect, test } from 'vitest';
import type { Caller, Verdict } from '../core/caller.js';
import type { Json } from '../core/json.js';
import type { AllowList, Policy, Rule } from '../core/rule.js';
import { parseSelectors } from '../core/selector.js';
import type { Tool } from '../core/tool.js';
import { decide } from './decide.js';
import { type Rules, toRules } from './rules.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };
const PERSON: Caller = { kind: 'person', door: 'cli' };

const rulesOf = (...texts: string[]): Rule[] =>
  texts.flatMap((text) => parseSelectors(text).map((selector) => ({ selector, file: null, line: null }) as Rule));
const listOf = (...texts: string[]): AllowList =>
  ({ of: 'the list', rules: rulesOf(...texts), file: null, line: null }) as AllowList;

function toolOf(traits: object = {}, origin: object = {}, properties: object = {}): Tool {
  return {
    name: 'deploy',
    traits: { tags: [], ...traits },
    origin: { owner: 'user', builtin: false, ...origin },
    input: { json: { type: 'object', properties } },
    action: { kind: 'process' },
  } as unknown as Tool;
}

interface Case {
  readonly tool?: Tool;
  readonly input?: Json;
  readonly caller?: Caller;
  readonly policy?: Partial<Policy>;
  readonly rules?: Partial<Rules>;
}

function verdictOf({ tool = toolOf(), input = {}, caller = MODEL, policy = {}, rules = {} }: Case): Verdict {
  const whole = { fault: undefined, lists: [], rules: [], projectRules: [], ...policy } as Policy;
  return decide({ tool, input }, caller, { ...toRules({ policy: whole, now: 0, user: {}, trusted: true }), ...rules });
}
const levelOf = (one: Case): string => verdictOf(one).verdict;

test('a denial is final', () => {
  const policy = { rules: rulesOf('deploy($deny)') };
  expect(levelOf({ policy })).toBe('deny');
  expect(verdictOf({ policy, rules: { changes: ['+ a'] } })).toMatchObject({
    verdict: 'deny',
    rule: 'deploy($deny)',
  });
  expect(verdictOf({ policy, rules: { trusted: () => false } }).rule).toBe('deploy($deny)');
});

test('a model runs neither code of an untrusted workspace nor an altered tool; a person does', () => {
  const tool = toolOf({}, { owner: 'workspace' });
  expect(verdictOf({ tool, rules: { trusted: () => false } })).toMatchObject({
    verdict: 'deny',
    code: 'needs_trust',
  });
  expect(levelOf({ tool, caller: PERSON, rules: { trusted: () => false } })).toBe('allow');
  const altered = { reason: 'changed', hint: 'reinstall it' };
  expect(verdictOf({ rules: { altered } })).toMatchObject({ verdict: 'deny', code: 'integrity' });
  expect(levelOf({ caller: PERSON, rules: { altered } })).toBe('allow');
});

test('a changed definition asks and shows the changes', () => {
  expect(verdictOf({ rules: { changes: ['+ a'] } })).toMatchObject({ verdict: 'ask', changes: ['+ a'] });
  const policy = { rules: rulesOf('deploy($policy=allow)') };
  expect(levelOf({ policy, rules: { changes: ['+ a'] } })).toBe('ask');
});

test('only built-in tools have reserved tags; a destructive tool has its tag', () => {
  const policy = { rules: rulesOf('#meta-core($deny)') };
  expect(levelOf({ tool: toolOf({ tags: ['meta-core'] }), policy })).toBe('allow');
  expect(levelOf({ tool: toolOf({ tags: ['meta-core'] }, { builtin: true }), policy })).toBe('deny');
  const destructive = { rules: rulesOf('#destructive($deny)') };
  expect(levelOf({ tool: toolOf({ destructive: true }), policy: destructive })).toBe('deny');
  expect(levelOf({ policy: destructive })).toBe('allow');
});

test('an invalid configuration denies everything', () => {
  expect(levelOf({ policy: { fault: 'config.toml:1' } })).toBe('deny');
  expect(levelOf({ caller: PERSON, policy: { fault: 'config.toml:1' } })).toBe('deny');
});

test('every list must select a call, also those of calling tools', () => {
  const lists = [listOf('deploy')];
  expect(levelOf({ policy: { lists } })).toBe('allow');
  expect(levelOf({ policy: { lists }, rules: { within: [listOf('other')] } })).toBe('deny');
  expect(levelOf({ policy: { lists: [listOf('deploy', 'deploy($policy=ask)')] } })).toBe('ask');
  expect(levelOf({ policy: { lists: [listOf('deploy', 'deploy($policy=deny)')] } })).toBe('deny');
});

test('a project can only tighten', () => {
  const deny = rulesOf('deploy($deny)');
  const ask = rulesOf('deploy($policy=ask)');
  const allow = rulesOf('deploy($policy=allow)');
  expect(levelOf({ policy: { projectRules: deny } })).toBe('deny');
  // $deny counts regardless of the order.
  expect(levelOf({ policy: { projectRules: [...allow, ...deny] } })).toBe('deny');
  expect(levelOf({ policy: { rules: [...allow, ...deny] } })).toBe('deny');
  expect(levelOf({ policy: { rules: allow, projectRules: ask } })).toBe('ask');
  expect(levelOf({ policy: { rules: ask, projectRules: allow } })).toBe('ask');
  expect(levelOf({ policy: { rules: rulesOf('deploy($policy=deny)'), projectRules: ask } })).toBe('deny');
});

test('a rule without a policy asks', () => {
  expect(levelOf({ policy: { rules: rulesOf('deploy') } })).toBe('ask');
});

test('a rule about an argument sees its default', () => {
  const tool = toolOf({}, {}, { branch: { type: 'string', default: 'main' } });
  const policy = { rules: rulesOf('deploy(branch=main,$deny)') };
  expect(levelOf({ tool, policy })).toBe('deny');
  expect(levelOf({ tool, policy, input: { branch: 'test' } })).toBe('allow');
});
