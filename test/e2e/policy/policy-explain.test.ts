// `wield explain`, and other output that names the deciding rule.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { list } from '../../support/ruled.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

describe('wield explain', () => {
  const RULES = `# who may do what\n${list('*')}\n[trust]\nrules = [\n  "deploy(branch=main,$deny)",\n  "other",\n  "deploy($policy=ask)",\n]\n`;
  const createDeploy = (user: string): Workspace => {
    const workspace = createWorkspace();
    const mark = join(workspace.dir, 'ran');
    workspace.script('deploy', shellScript(`touch ${mark}`, '@param *branch string Branch'));
    workspace.config(user);
    return workspace;
  };

  spec('RES-1 POL-10', 'takes a path from the current directory, like call and show', async () => {
    const workspace = createDeploy('');
    workspace.write('src/deep/note.txt', '');
    const cwd = join(workspace.dir, 'src/deep');
    for (const args of [['call', '--dry-run'], ['show'], ['explain'], ['explain', '--as', 'mcp']]) {
      const [verb, ...flags] = args as [string, ...string[]];
      const input = verb === 'call' ? ['--branch', 'x'] : [];
      const run = await wield(workspace, [verb, '../../.agents/tools/deploy', ...flags, ...input], { cwd });
      expect([args, run.status, run.stderr]).toEqual([args, 0, '']);
    }
  });

  spec('POL-10', 'prints the verdict, the rule with file and line, and the rules that do not match', async () => {
    const workspace = createDeploy(RULES);
    const file = join(workspace.env.WIELD_HOME!, 'config.toml');
    const run = await wield(workspace, ['explain', 'deploy', '--input', '{"branch":"main"}', '--as', 'mcp']);
    expect(run.status).toBe(0);
    expect(run.stdout.split('\n')[0]).toBe('  deny   ~/.wield/config.toml:6   deploy(branch=main,$deny)');
    expect(run.stdout).toContain('~/.wield/config.toml:7   other');
    expect(run.stdout).not.toContain(':8');
    const explain = async (...args: string[]) => json(await wield(workspace, ['explain', 'deploy', '--json', ...args]));
    expect(await explain('--input', '{"branch":"main"}', '--as', 'user')).toEqual({
      ok: true,
      schema: 1,
      verdict: 'deny',
      rule: { text: 'deploy(branch=main,$deny)', file, line: 6 },
      reason: 'a rule denies it: deploy(branch=main,$deny)',
      unmatched: [{ text: 'other', file, line: 7 }],
    });
    expect(await explain('--input', '{"branch":"next"}', '--as', 'code')).toMatchObject({
      verdict: 'ask',
      rule: { text: 'deploy($policy=ask)', file, line: 8 },
      unmatched: [
        { text: 'deploy(branch=main,$deny)', line: 6 },
        { text: 'other', line: 7 },
      ],
    });
    // Without an input, rules with argument patterns do not match.
    expect(await explain()).toMatchObject({ verdict: 'ask', rule: { line: 8 } });
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });

  spec('POL-10', 'explains decisions without a rule: trust, a list, the default, an unreadable file', async () => {
    const workspace = createDeploy('');
    const explain = async (...args: string[]) => json(await wield(workspace, ['explain', 'deploy', '--json', ...args]));
    expect(await explain('--as', 'mcp')).toMatchObject({ verdict: 'deny', rule: null, unmatched: [] });
    expect((await explain('--as', 'mcp')).reason).toContain('not trusted');
    expect(await explain()).toMatchObject({ verdict: 'allow', rule: null, reason: 'by default' });
    expect((await wield(workspace, ['explain', 'deploy'])).stdout).toBe('  allow  by default\n');
    workspace.config(list('hello'));
    const file = join(workspace.env.WIELD_HOME!, 'config.toml');
    expect(await explain()).toEqual({
      ok: true,
      schema: 1,
      verdict: 'deny',
      rule: null,
      reason: `allowed-tools does not select it (${file}:1)`,
      unmatched: [{ text: 'hello', file, line: 1 }],
    });
    workspace.config('allowed-tools = "("\n');
    expect((await explain()).reason).toContain(`${file}:1`);
  });

  spec('POL-10', 'exits with 0, 2 or 3', async () => {
    const workspace = createDeploy(list());
    expect((await wield(workspace, ['explain', 'deploy'])).status).toBe(0);
    expect((await wield(workspace, ['explain', 'deplyo'])).status).toBe(3);
    expect((await wield(workspace, ['explain'])).status).toBe(2);
    expect((await wield(workspace, ['explain', 'deploy', '--as', 'root'])).status).toBe(2);
    expect((await wield(workspace, ['explain', 'deploy', '--input', '{"x":1}'])).status).toBe(2);
  });

  test('show and a dry run name the rule, its file and line', async () => {
    const workspace = createDeploy(RULES);
    const shown = await wield(workspace, ['show', 'deploy']);
    expect(shown.stdout).toMatch(/you +ask: a rule asks first: deploy\(\$policy=ask\) \(.*config\.toml:8\)/);
    const dry = await wield(workspace, ['call', 'deploy', '--branch', 'main', '--dry-run']);
    expect(dry.stdout).toMatch(/policy +deny +a rule denies it: deploy\(branch=main,\$deny\) .*config\.toml:6/);
    const { verdict } = json(await wield(workspace, ['call', 'deploy', '--branch', 'main', '--dry-run', '--json']));
    expect(verdict).toMatchObject({ verdict: 'deny', source: { line: 6 } });
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });
});
