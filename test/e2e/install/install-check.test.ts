// Checking a source for its author, and mending what can be mended.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { json } from '../../support/cli.js';
import { createInstallWorkspace, WORKED } from '../../support/install.js';
import { spec } from '../../support/spec.js';

const skill = (name: string, text = ''): string =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${text}\n`;
const HELPER = `#!/bin/sh\n# A helper that does the same thing wherever it lies, at some length.\necho same\n`;

spec('INS-33', 'everything that is wrong or could be better is found, with its place', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('bad', {
    'tools/broken/TOOL.md': '---\ndescription: B.\nbin: gone.sh\n---\n',
    'tools/quiet/quiet': '#!/bin/sh\n',
    'skills/refers/SKILL.md': skill('refers', 'one\n{{tools:nothing}}'),
    'skills/Odd_Name/SKILL.md': skill('Odd_Name'),
    'skills/hard/SKILL.md': skill(
      'hard',
      'Run ~/.wield/store/tool/quiet/quiet now, see ~/.mind/store/skill/hard/x.',
    ),
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
    expect(found).toContainEqual(
      expect.objectContaining({ level, path, message: expect.stringMatching(message) }),
    );
  has('error', 'tools/broken', /bin gone\.sh is not there/);
  has('error', 'skills/refers/SKILL.md:6', /no such item/);
  has('warning', 'tools/quiet', /has no description/);
  has('warning', 'tools/quiet/quiet', /not executable/);
  has('warning', 'skills/Odd_Name', /other readers of skills refuse/);
  has('warning', 'skills/hard/SKILL.md', /~\/\.wield\/store\/tool\/quiet\/quiet is written by hand/);
  has('warning', 'skills/one/help.sh', /duplicate-tooling: the same file as skills\/two\/help\.sh/);
  has('warning', 'wield.toml', /a hook would run at add: make all/);
  const broken = workspace.source('broken', { 'wield.toml': '[source]\n\nnamspace = "x"\n' });
  const report = json(await workspace.run('check', broken, '--json'));
  expect(report.findings).toEqual([expect.objectContaining({ level: 'error', path: 'wield.toml:3' })]);
});

spec('INS-33', 'advice alone exits 0, and --fix mends what is mechanical and nothing else', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('mendable', {
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
  workspace.source('mendable', { 'skills/lower/skill.md': skill('lower') });
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
