// wield check on a source, with and without --fix.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json } from '../../support/cli.js';
import { createInstallWorkspace, WORKED } from '../../support/install.js';
import { spec } from '../../support/spec.js';

const skill = (name: string, text = ''): string => `---\nname: ${name}\ndescription: About ${name}.\n---\n${text}\n`;
const HELPER = `#!/bin/sh\n# A helper that does the same thing in every skill, and is long enough to count.\necho same\n`;

spec('INS-33', 'reports errors and warnings with their paths', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('bad', {
    'tools/broken/TOOL.md': '---\ndescription: B.\nbin: gone.sh\n---\n',
    'tools/quiet/quiet': '#!/bin/sh\n',
    'skills/refers/SKILL.md': skill('refers', 'one\n{{tools:nothing}}'),
    'skills/Odd_Name/SKILL.md': skill('Odd_Name'),
    'skills/hard/SKILL.md': skill('hard', 'Run ~/.wield/store/tool/quiet/quiet now, see ~/.mind/store/skill/hard/x.'),
    'skills/one/help.sh': HELPER,
    'skills/one/SKILL.md': skill('one'),
    'skills/two/help.sh': HELPER,
    'skills/two/SKILL.md': skill('two'),
    'wield.toml': '[source]\ninstall = "make all"\n',
  });
  const run = await workspace.run('review', source, '--json');
  expect(run.status).toBe(1);
  const found: { level: string; path: string; message: string }[] = json(run).findings;
  const has = (level: string, path: string, message: RegExp) =>
    expect(found).toContainEqual(expect.objectContaining({ level, path, message: expect.stringMatching(message) }));
  has('error', 'tools/broken', /bin not found: gone\.sh/);
  has('error', 'skills/refers/SKILL.md:6', /no such item/);
  has('warning', 'tools/quiet', /has no description/);
  has('warning', 'tools/quiet/quiet', /not executable/);
  has('warning', 'skills/Odd_Name', /not accepted by other harnesses/);
  has('warning', 'skills/hard/SKILL.md', /hard-coded store path ~\/\.wield\/store\/tool\/quiet\/quiet/);
  has('warning', 'skills/one/help.sh', /duplicate-tooling: identical to skills\/two\/help\.sh/);
  has('warning', 'wield.toml', /add runs a hook: make all/);
  const broken = workspace.source('broken', { 'wield.toml': '[source]\n\nnamspace = "x"\n' });
  const report = json(await workspace.run('check', broken, '--json'));
  expect(report.findings).toEqual([expect.objectContaining({ level: 'error', path: 'wield.toml:3' })]);
});

spec('INS-33', 'exits 0 on warnings alone, and --fix fixes only what needs no decision', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('fixable', {
    ...WORKED,
    'tools/quiet/TOOL.md': '---\ndescription: Quiet.\nbin: quiet.sh\n---\n',
    'tools/quiet/quiet.sh': '#!/bin/sh\n',
    'skills/hard/SKILL.md': skill(
      'hard',
      '`~/.wield/store/tool/detect/detect.sh` `$HOME/.mind/store/tool/detect/lib.sh` `~/.wield/store/skill/hard/x` `~/.wield/store/tool/other/y`',
    ),
    'skills/one/help.sh': HELPER,
    'skills/one/SKILL.md': skill('one'),
    'skills/two/help.sh': HELPER,
    'skills/two/SKILL.md': skill('two'),
  });
  const advice = await workspace.run('check', source, '--json');
  expect([advice.status, json(advice).errors]).toEqual([0, 0]);
  expect(json(advice).warnings).toBeGreaterThan(4);
  workspace.source('fixable', { 'skills/lower/skill.md': skill('lower') });
  expect((await workspace.run('check', source)).status).toBe(1);
  expect((await workspace.run('check', source, '--fix')).stdout).toContain('fixed');
  expect(readFileSync(join(source, 'skills/hard/SKILL.md'), 'utf8')).toContain(
    '`{{tools:detect}}` `{{path:tool:detect}}/lib.sh` `{{self}}/x` `~/.wield/store/tool/other/y`',
  );
  expect(statSync(join(source, 'tools/quiet/quiet.sh')).mode & 0o111).not.toBe(0);
  expect(readFileSync(join(source, 'skills/lower/SKILL.md'), 'utf8')).toContain('lower');
  const left = json(await workspace.run('check', source, '--json')).findings.map(
    ({ message }: { message: string }) => message,
  );
  expect(left).toEqual([expect.stringContaining('tool/other'), expect.stringContaining('duplicate-tooling')]);
});

spec('INS-33', 'a server of a plugin has no file of its own to check', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('plugin', {
    '.claude-plugin/plugin.json':
      '{"name":"alpha","mcpServers":{"notes":{"type":"http","url":"http://127.0.0.1:9/mcp"}}}',
    'skills/one/SKILL.md': skill('one'),
  });
  const run = await workspace.run('check', source, '--json');
  expect([run.status, json(run).findings]).toEqual([0, []]);
});
