// Tests of rules in the configuration: what they decide, where they run, and what a failed one does.

import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { type ManagedWorkspace, withManaged } from '../../support/managed.js';
import { spec } from '../../support/spec.js';

const RULES = `[trust]
rules = [
  "deploy($group=ops,$policy=allow)",
  "deploy(branch=main,$policy=ask)",
  "deploy($user=mallory,$deny)",
]
`;
const test = (lines: string): string => `[[trust.tests]]\n${lines}\n`;
const ECHO = '#!/bin/sh\n# @description Say something.\necho ran\n';

async function call(workspace: ManagedWorkspace) {
  workspace.script('echo', ECHO);
  return json(await wield(workspace, ['call', 'echo', '--json']));
}

describe.concurrent('tests of rules', () => {
  spec('POL-43', 'passes by user, groups, input and caller, whether the tool exists or not', () =>
    withManaged(
      [
        RULES,
        test('call = "deploy"\ninput = { branch = "main" }\nas = "mcp"\ngroups = ["dev"]\nexpect = "ask"'),
        test('call = "deploy"\ninput = { branch = "main" }\ngroups = ["dev", "ops"]\nexpect = "allow"'),
        test('call = "deploy"\ninput = { branch = "next" }\nas = "user"\nexpect = "allow"'),
        test('call = "deploy"\nuser = "mallory"\ngroups = ["ops"]\nexpect = "deny"'),
        test('call = "nothing"\nas = "code"\nexpect = "allow"'),
      ].join(''),
      async (workspace) => {
        expect(await call(workspace)).toMatchObject({ ok: true });
        const { stdout } = await wield(workspace, ['check']);
        expect(stdout).toContain('5 tests of rules passed');
        expect(json(await wield(workspace, ['check', '--json'])).tests).toEqual({ passed: 5, failed: 0 });
      },
    ),
  );

  spec('POL-43', 'one that cannot be read denies everything, and is reported by check', () =>
    withManaged(test('call = "deploy"\nexpect = "maybe"'), async (workspace) => {
      expect(await call(workspace)).toMatchObject({ ok: false, error: { code: 'denied' } });
      const { status, stdout } = await wield(workspace, ['check']);
      expect(status).toBe(1);
      expect(stdout).toContain('trust.tests.1.expect must be');
    }),
  );

  spec('POL-43', 'one that fails denies everything, with what was expected, decided, and by which rule', () =>
    withManaged(
      RULES + test('call = "deploy"\ninput = { branch = "main" }\ngroups = ["ops"]\nexpect = "ask"'),
      async (workspace) => {
        const file = join(workspace.managed, 'config.toml');
        const said =
          'the test of deploy {"branch":"main"} as mcp, groups ops expects ask, and the rules decide allow: ';
        const { error } = await call(workspace);
        expect(error).toMatchObject({ code: 'denied' });
        expect(error.message).toContain(`${file}:7: ${said}deploy($group=ops,$policy=allow) (${file}:3)`);
        const checked = await wield(workspace, ['check']);
        expect(checked.status).toBe(1);
        expect(checked.stdout.replace(/\s+/g, ' ')).toContain(said);
        const { findings, tests, errors } = json(await wield(workspace, ['check', '--json']));
        expect({ tests, errors }).toEqual({ tests: { passed: 0, failed: 1 }, errors: 1 });
        expect(findings).toMatchObject([
          { level: 'error', path: file, line: 7, message: expect.stringContaining(said) },
        ]);
        const [result] = JSON.parse((await wield(workspace, ['check', '--sarif'])).stdout).runs[0].results;
        expect(result.locations[0].physicalLocation).toMatchObject({
          artifactLocation: { uri: `file://${file}` },
          region: { startLine: 7 },
        });
        const { fault } = json(await wield(workspace, ['config', '--json']));
        expect(fault).toContain(said);
      },
    ),
  );

  spec('POL-43', 'tests of a layer see the rules of that layer and those above', () =>
    withManaged(RULES + test('call = "deploy"\ngroups = ["ops"]\nexpect = "allow"'), async (workspace) => {
      // A user may be stricter, and break no test of the company.
      workspace.config('[trust]\nrules = ["deploy($deny)"]\n');
      expect(await call(workspace)).toMatchObject({ ok: true });
      const expectAllow = test('call = "deploy"\ngroups = ["ops"]\nexpect = "allow"');
      workspace.write('.agents/config.toml', expectAllow);
      const { error } = await call(workspace);
      expect(error.message).toMatch(/project\/\.agents\/config\.toml:1: .*decide deny: deploy\(\$deny\)/);
      const { findings } = json(await wield(workspace, ['check', '--json']));
      expect(findings).toMatchObject([{ path: '.agents/config.toml', line: 1 }]);
    }),
  );

  spec('POL-43', 'runs again when a file of config.d changes', () =>
    withManaged(
      {
        'config.d/10-rules.toml': RULES,
        'config.d/90-tests.toml': test('call = "deploy"\ninput = { branch = "main" }\nexpect = "ask"'),
      },
      async (workspace) => {
        workspace.script('echo', ECHO);
        const toolbox = workspace.toolbox();
        expect(await toolbox.call('echo', {})).toMatchObject({ ok: true });
        workspace.manage('config.d/10-rules.toml', '');
        expect(await toolbox.call('echo', {})).toMatchObject({ ok: false, error: { code: 'denied' } });
      },
    ),
  );

  spec('POL-43', 'an invalid test denies everything, and so do too many', async () => {
    const invalid = [
      'call = "x"',
      'call = "x"\nexpect = "maybe"',
      'call = "x"\nexpect = "ask"\nas = "root"',
      'expect = "ask"',
      'call = "x"\nexpect = "ask"\ninput = "y"',
      'call = "x"\nexpect = "ask"\ngroup = ["y"]',
    ];
    for (const lines of invalid)
      await withManaged(test(lines), async (workspace) => {
        expect([lines, (await call(workspace)).error]).toMatchObject([lines, { code: 'denied' }]);
      });
    const rules = `[trust]\nrules = [${'"a($deny)",'.repeat(1000)}]\n`;
    await withManaged(rules + test('call = "x"\nexpect = "allow"').repeat(501), async (workspace) => {
      expect((await call(workspace)).error.message).toContain('501 tests of 1000 rules are too many');
    });
  });
});
