// The decision itself: every layer of the configuration, owners of tools, callers, and what is judged of a plan.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished } from 'vitest';
import { rounds } from '../../test/support/effort.js';
import { spec } from '../../test/support/spec.js';
import { createConfiguration, type Layer } from '../config/index.js';
import type { Caller } from '../core/caller.js';
import { deepFreeze, type Json, type JsonObject } from '../core/json.js';
import type { Owner } from '../core/origin.js';
import { NO_POLICY, type Policy } from '../core/rule.js';
import type { Tool } from '../core/tool.js';
import { toTool } from '../formats/module/define.js';
import { decide, findDenial } from './decide.js';
import { type Rules, toRules } from './rules.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };
const CALLERS: readonly Caller[] = [MODEL, { kind: 'person', door: 'cli' }, { kind: 'code', door: 'library' }];

/** The policy of files with these texts. */
function policyOf(texts: Partial<Record<Layer, string>>): Policy {
  const root = mkdtempSync(join(tmpdir(), 'wield-policy-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const files = { managed: 'managed/config.toml', user: 'home/config.toml', project: 'project/.agents/config.toml' };
  for (const [layer, text] of Object.entries(texts)) {
    const file = join(root, files[layer as Layer]);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return createConfiguration({
    managed: join(root, 'managed'),
    wieldHome: join(root, 'home'),
    now: Date.now,
  })(join(root, 'project')).policy;
}

function toolOf(name: string, owner: Owner = 'program', more: Partial<Tool['traits']> = {}): Tool {
  const tool = toTool({ name, description: 'A tool.', execute: () => null });
  return { ...tool, origin: { ...tool.origin, owner }, traits: { ...tool.traits, ...more } };
}

const rulesOf = (policy: Policy, more: Partial<Rules> = {}): Rules => ({
  ...toRules({ policy, now: 0, user: {}, trusted: true }),
  ...more,
});
const judge = (policy: Policy, tool: Tool, input: Json = {}, caller = MODEL) =>
  decide({ tool, input }, caller, rulesOf(policy)).verdict;

const list = (text: string): string => `allowed-tools = ${JSON.stringify(text)}\n`;
const trust = (text: string): string => `[trust]\nrules = ${JSON.stringify(text)}\n`;

describe('layers', () => {
  spec('POL-2 POL-11', 'a call must be selected by each file that has a list', () => {
    const policy = policyOf({ managed: list('a b c'), user: list('b c d'), project: list('c d e *') });
    const verdicts = ['a', 'b', 'c', 'd', 'e'].map((name) => judge(policy, toolOf(name)));
    expect(verdicts).toEqual(['deny', 'allow', 'allow', 'deny', 'deny']);
  });

  spec('POL-5', "managed rules come before the user's; a project's only tighten", () => {
    const levels = ['allow', 'ask', 'deny'] as const;
    for (const managed of [...levels, undefined]) {
      for (const user of [...levels, undefined]) {
        for (const project of [...levels, undefined]) {
          const texts = Object.fromEntries(
            Object.entries({ managed, user, project })
              .filter(([, level]) => level !== undefined)
              .map(([layer, level]) => [layer, trust(`a($policy=${level})`)]),
          );
          const above = managed ?? user ?? 'allow';
          const strictest = levels[Math.max(levels.indexOf(above), levels.indexOf(project ?? 'allow'))];
          expect([texts, judge(policyOf(texts), toolOf('a'))]).toEqual([texts, strictest]);
        }
      }
    }
  });

  spec('POL-3', 'a $deny of any layer wins, in either key', () => {
    for (const layer of ['managed', 'user', 'project'] as const) {
      for (const text of [list('* a($deny)'), trust('a($policy=allow) a($deny)')]) {
        const wide = trust('*($policy=allow)');
        const policy = policyOf({ managed: wide, user: wide, project: wide, [layer]: text });
        expect([layer, text, judge(policy, toolOf('a'))]).toEqual([layer, text, 'deny']);
        expect([layer, text, judge(policy, toolOf('b'))]).toEqual([layer, text, 'allow']);
      }
    }
  });

  spec('POL-10', 'the verdict names the file and line of the rule that decided', () => {
    const policy = policyOf({
      managed: `# first\n${list('*')}`,
      user: `\n\n[trust]\nrules = [\n "x",\n\n "a(op=1,$policy=deny)",\n "a($policy=allow)"]\n`,
    });
    const verdict = decide({ tool: toolOf('a'), input: { op: 1 } }, MODEL, rulesOf(policy));
    expect(verdict).toMatchObject({ verdict: 'deny', rule: 'a(op=1,$policy=deny)', source: { line: 7 } });
    expect(verdict.source!.file).toMatch(/home\/config\.toml$/);
    const allowed = decide({ tool: toolOf('b'), input: {} }, MODEL, rulesOf(policy));
    expect(allowed).toMatchObject({ verdict: 'allow', rule: '*', source: { line: 2 } });
  });
});

describe('without a rule', () => {
  spec('POL-5', 'destructive tools ask: for models, and of packages and upstreams for all callers', () => {
    const owners: readonly Owner[] = ['program', 'user', 'workspace', 'package', 'upstream'];
    for (const owner of owners) {
      for (const destructive of [true, false, undefined]) {
        const tool = toolOf('a', owner, destructive === undefined ? {} : { destructive });
        for (const caller of CALLERS) {
          const isForeign = owner === 'package' || owner === 'upstream';
          const expected = destructive === true && (isForeign || caller.kind === 'model') ? 'ask' : 'allow';
          const verdict = judge(NO_POLICY, tool, {}, caller);
          expect([owner, destructive, caller.kind, verdict]).toEqual([owner, destructive, caller.kind, expected]);
        }
        // A user's rule decides, and a project's cannot remove the question.
        expect(judge(policyOf({ user: trust('a($policy=allow)') }), tool)).toBe('allow');
        expect(judge(policyOf({ project: trust('a($policy=allow)') }), tool)).toBe(destructive ? 'ask' : 'allow');
      }
    }
  });
});

describe('the function', () => {
  spec('POL-1', 'is pure: the same for the same, frozen or not, and changes nothing', () => {
    const policy = policyOf({ user: list('* a(op={x,y},$deny)') + trust('b c($policy=allow)') });
    const input = fc.record({ op: fc.constantFrom('x', 'y', 'z') }, { requiredKeys: [] });
    fc.assert(
      fc.property(fc.constantFrom('a', 'b', 'c', 'd'), input, fc.constantFrom(...CALLERS), (name, value, caller) => {
        const plan = { tool: toolOf(name), input: value };
        const before = JSON.stringify([plan, policy]);
        const first = decide(plan, caller, rulesOf(policy));
        expect(decide(deepFreeze(plan), caller, deepFreeze(rulesOf(policy)))).toEqual(first);
        expect(JSON.stringify([plan, policy])).toBe(before);
      }),
    );
  });

  spec('POL-1 POL-8', 'never allows a call of a tool that it hides', () => {
    const selector = fc
      .tuple(
        fc.constantFrom('*', 'a', 'b', '{a,b}', '#t'),
        fc.constantFrom(
          '',
          '(op=x)',
          '(op=x,$deny)',
          '($deny)',
          '($policy=deny)',
          '(op=x,$policy=allow)',
          '($policy=ask)',
        ),
      )
      .map((parts) => parts.join(''));
    const texts = fc.array(selector, { maxLength: 4 }).map((parts) => parts.join(' '));
    fc.assert(
      fc.property(fc.option(texts), texts, texts, (allowed, user, project) => {
        const policy = policyOf({
          user: (allowed === null ? '' : list(allowed)) + trust(user),
          project: trust(project),
        });
        for (const tool of [toolOf('a'), toolOf('b', 'program', { tags: ['t'] })]) {
          const hidden = findDenial(tool, MODEL, rulesOf(policy)) !== undefined;
          const inputs: JsonObject[] = [{}, { op: 'x' }, { op: 'y' }];
          const verdicts = inputs.map((input) => judge(policy, tool, input));
          if (hidden) expect(verdicts).toEqual(['deny', 'deny', 'deny']);
        }
      }),
      { numRuns: rounds(100, 300) },
    );
  });
});
