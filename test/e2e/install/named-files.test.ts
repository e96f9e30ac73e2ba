// Files of its source that a skill names outside of its own directory: installed with it, and read by a model.

import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { createInstallWorkspace, type Files } from '../../support/install.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'mcp' } } as const;

const TEXT = `---
name: one
description: One.
---
Read [the rules](../../references/rules.md#top), \`../two/SKILL.md\` and [this](<../../references/a file.md>).
Also [x](../../references/a%20file.md), "../../references/table.csv", @../../docs/start.md and config=../../docs/set.json.
Windows: ..\\..\\docs\\back.md. Not there: ../../missing.md. A directory: ../../references.
`;
const FILES: Files = {
  'skills/one/SKILL.md': TEXT,
  'skills/one/references/more.md': 'Deeper: ../../../shared/deep.md, and ../../two/own.md, and ../SKILL.md.',
  'skills/two/SKILL.md': '---\nname: two\ndescription: Two.\n---\nSee {{self}} and {{path:nothing}}, own.md.\n',
  'skills/two/own.md': 'Of two.',
  'references/rules.md': 'Be kind. {{self}}',
  'references/a file.md': 'Blank.',
  'references/table.csv': 'a,b',
  'references/unnamed.md': 'Not named.',
  'docs/start.md': 'Start.',
  'docs/set.json': '{}',
  'docs/back.md': 'Back.',
  'shared/deep.md': 'Deep.',
};
const NAMED = {
  '../../references/rules.md': 'Be kind. {{self}}',
  '../two/SKILL.md': FILES['skills/two/SKILL.md'],
  '../../references/a file.md': 'Blank.',
  '../../references/table.csv': 'a,b',
  '../../docs/start.md': 'Start.',
  '../../docs/set.json': '{}',
  '../../docs/back.md': 'Back.',
  '../../shared/deep.md': 'Deep.',
  '../two/own.md': 'Of two.',
};

describe.concurrent('files that a skill names outside of its directory', () => {
  spec('INS-89 SKL-15', 'are installed with it, listed, and read by any spelling of their paths', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.repository('kit', FILES), '--yes', '--register-only');
    await workspace.json('install', 'one', '--yes');
    const toolbox = workspace.toolbox();
    const read = (input: object = {}) => toolbox.call('read_skill', { skill_name: 'one', ...input }, MODEL);
    const text = textOf(await read());
    const listed = text.slice(text.indexOf('Files, read with')).match(/^ {2}.*(?= \()/gm);
    expect(listed?.sort()).toEqual(['references/more.md', ...Object.keys(NAMED)].map((path) => `  ${path}`).sort());
    for (const [file, content] of Object.entries(NAMED))
      expect([file, textOf(await read({ file }))]).toEqual([file, content]);
    for (const file of [
      './../../references/rules.md',
      'references/../../../references/rules.md',
      '..\\..\\references\\rules.md',
      '../../skills/../references/rules.md',
    ])
      expect([file, textOf(await read({ file }))]).toEqual([file, 'Be kind. {{self}}']);
    expect(textOf(await read({ file: '../one/references/more.md' }))).toContain('Deeper');
    expect(textOf(await read({ file: '../../references' }))).toMatch(
      /references\/a file\.md.*\n.*references\/rules\.md/,
    );
    expect((await read({ file: '../../rules.md' })).error).toMatchObject({
      code: 'not_found',
      hint: 'did you mean ../../references/rules.md?',
    });
    expect((await read({ file: '../../references/unnamed.md' })).error).toMatchObject({
      code: 'not_found',
      message: '../../references/unnamed.md is outside the skill "one", and was not installed with it',
    });
    const listing = await toolbox.catalog.resources.read('skill://one/../../references/rules.md', MODEL);
    expect(listing.ok).toBe(false);
  });

  const chain: Files = {
    '.claude-plugin/marketplace.json': JSON.stringify({
      name: 'm',
      owner: { name: 'o' },
      plugins: [{ name: 'kit', source: './plugins/kit' }],
    }),
    'plugins/kit/.claude-plugin/plugin.json': JSON.stringify({ name: 'kit' }),
    'plugins/kit/skills/one/SKILL.md': `---
name: one
description: One.
---
Follow references/more.md and \`shared/guide.md\`, run \`python "\${CLAUDE_SKILL_DIR}/scripts/own.py"\`, see
\`plugins/kit/docs/root.md\`, plugins/kit/skills/one/references/more.md and <plugin-dir>/docs/place.md, never README.md.
`,
    'plugins/kit/skills/one/references/more.md': 'Then `{baseDir}/scripts/own.py`.',
    'plugins/kit/skills/one/scripts/own.py': 'print("own")',
    'plugins/kit/shared/guide.md': 'Run `steps/a.sh`, or [b](b.md), ../skills/two/SKILL.md.',
    'plugins/kit/shared/steps/a.sh': 'echo a',
    'plugins/kit/shared/b.md': 'See ../docs/last.md.',
    'plugins/kit/docs/last.md': 'Last.',
    'plugins/kit/docs/root.md': 'Root.',
    'plugins/kit/docs/place.md': 'Place.',
    'plugins/kit/docs/unnamed.md': 'Unnamed.',
    'plugins/kit/skills/two/SKILL.md': '---\nname: two\ndescription: Two.\n---\nSee ../../docs/unnamed.md.\n',
    'README.md': 'Readme.',
  };

  spec('INS-89 SKL-17', 'are found from each directory above the skill, and through other texts', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.repository('kit', chain), '--yes', '--register-only');
    await workspace.json('install', 'kit:one', '--yes');
    const toolbox = workspace.toolbox();
    const read = async (file: string) => {
      const result = await toolbox.call('read_skill', { skill_name: 'kit:one', file }, MODEL);
      return result.error?.code ?? textOf(result);
    };
    for (const [file, content] of Object.entries({
      'shared/guide.md': chain['plugins/kit/shared/guide.md'],
      '../../shared/guide.md': chain['plugins/kit/shared/guide.md'],
      'plugins/kit/shared/guide.md': chain['plugins/kit/shared/guide.md'],
      'shared/steps/a.sh': 'echo a',
      'shared/b.md': 'See ../docs/last.md.',
      'docs/last.md': 'not_found',
      'plugins/kit/docs/root.md': 'Root.',
      '<plugin-dir>/docs/place.md': 'Place.',
      '${CLAUDE_PLUGIN_ROOT}/docs/place.md': 'Place.',
      '${CLAUDE_SKILL_DIR}/scripts/own.py': 'print("own")',
      '{baseDir}/scripts/own.py': 'print("own")',
      'plugins/kit/skills/one/references/more.md': chain['plugins/kit/skills/one/references/more.md'],
      'skills/one/references/more.md': chain['plugins/kit/skills/one/references/more.md'],
      '../two/SKILL.md': chain['plugins/kit/skills/two/SKILL.md'],
      'docs/unnamed.md': 'not_found',
      'README.md': 'not_found',
      '../../../../README.md': 'not_found',
    }))
      expect([file, await read(file)]).toEqual([file, content]);
  });

  spec('SKL-17', 'are read by the target of a Markdown link, never outside of the skill', async () => {
    const workspace = createWorkspace();
    workspace.write(
      '.agents/skills/one/SKILL.md',
      '---\nname: one\ndescription: One.\n---\n[x](references/x%20y.md)\n',
    );
    for (const name of ['x y.md', 'z.md', '100%.md', 'a%20b.md', 'a b.md'])
      workspace.write(`.agents/skills/one/references/${name}`, name);
    workspace.write('.agents/skills/own.txt', 'own');
    const toolbox = workspace.toolbox();
    const read = async (file: string) => {
      const result = await toolbox.call('read_skill', { skill_name: 'one', file });
      return result.error?.code ?? textOf(result);
    };
    expect(await read('references/x%20y.md')).toBe('x y.md');
    expect(await read('references/z.md#sec')).toBe('z.md');
    expect(await read('references/x%20y.md#a%20b')).toBe('x y.md');
    // The name itself comes first.
    for (const name of ['100%.md', 'a%20b.md']) expect(await read(`references/${name}`)).toBe(name);
    for (const file of [
      '%2e%2e/own.txt',
      '..%2Fown.txt#x',
      'references/%2e%2e/%2e%2e/own.txt',
      'z%00.md',
      '%2Fetc%2Fpasswd',
    ])
      expect([file, await read(file)]).toEqual([file, expect.stringMatching(/^(path_escape|not_found)$/)]);
  });

  spec('SKL-17 INS-63', 'are read where a token of the plugin leads, without hidden ones', async () => {
    const workspace = createInstallWorkspace();
    const text = '---\nname: one\ndescription: One.\n---\nRead ${CLAUDE_PLUGIN_ROOT}/docs/unnamed.md first.\n';
    const files = { ...chain, 'plugins/kit/skills/one/SKILL.md': text, 'plugins/kit/.env': 'SECRET' };
    await workspace.json('add', workspace.source('kit', files), '--yes', '--register-only');
    await workspace.json('install', 'kit:one', '--yes');
    const toolbox = workspace.toolbox();
    const call = (file?: string) => toolbox.call('read_skill', { skill_name: 'kit:one', file }, MODEL);
    const read = async (file: string) => {
      const result = await call(file);
      return result.error?.code ?? textOf(result);
    };
    const [, root] = /Read (\S+)\/docs\/unnamed\.md first/.exec(textOf(await call()))!;
    expect(root).toMatch(/store\/plugin\/kit$/);
    for (const base of [root!, '${CLAUDE_PLUGIN_ROOT}', '"$CLAUDE_PLUGIN_ROOT"'])
      expect([base, await read(`${base}/docs/unnamed.md`)]).toEqual([base, 'Unnamed.']);
    expect(await read(`${root}/docs/last.md`)).toBe('Last.');
    expect(await read(`${root}/docs`)).toContain('docs/last.md');
    for (const file of [
      `${root}/.env`,
      `${root}/docs/../.env`,
      `${root}/../../../own.txt`,
      '${CLAUDE_PLUGIN_ROOT}/.env',
    ])
      expect([file, await read(file)]).toEqual([file, expect.stringMatching(/^(?:not_found|path_escape)$/)]);
  });

  spec('INS-89', 'are verified, locked and upgraded as its own', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('kit', FILES);
    await workspace.json('add', url, '--yes', '--register-only');
    await workspace.json('install', 'one', '--yes');
    expect((await workspace.run('verify')).status).toBe(0);
    await workspace.json('uninstall', 'one', '--yes');
    await workspace.json('install', 'one', '--yes');
    const before = workspace.snapshot();
    await workspace.json('install', '--frozen', '--yes');
    expect(workspace.snapshot()).toEqual(before);

    workspace.source('kit', { 'references/rules.md': 'Be brief.' });
    workspace.git('kit', 'commit', '--quiet', '--all', '--message', 'Change');
    const { stdout } = await workspace.run('upgrade', '--yes');
    expect(stdout).toContain('.source/references/rules.md');
    const read = () =>
      workspace.toolbox().call('read_skill', { skill_name: 'one', file: '../../references/rules.md' }, MODEL);
    expect(textOf(await read())).toBe('Be brief.');

    rmSync(join(workspace.wieldHome, 'store/skill/one/.source/references/rules.md'));
    const verified = await workspace.run('verify');
    expect([verified.status, verified.stderr + verified.stdout]).toEqual([
      7,
      expect.stringContaining('removed .source/references/rules.md'),
    ]);
    expect((await read()).error?.code).toBe('not_found');
  });

  spec(
    'INS-89',
    'are followed through links inside the source, and stay those of the skill if it has such a directory',
    async () => {
      const workspace = createInstallWorkspace();
      const directory = workspace.source('kit', FILES);
      symlinkSync('rules.md', join(directory, 'references/linked.md'));
      workspace.source('kit', {
        'skills/three/SKILL.md': '---\nname: three\ndescription: D.\n---\n../../references/linked.md',
        'skills/four/SKILL.md': '---\nname: four\ndescription: D.\n---\n../../references/rules.md',
        'skills/four/.source/references/rules.md': 'Own.',
      });
      rmSync(join(directory, 'skills/two'), { recursive: true });
      await workspace.json('add', directory, '--yes', '--register-only');
      await workspace.json('install', 'three', 'four', '--yes');
      const toolbox = workspace.toolbox();
      const read = async (skill: string, file: string) =>
        textOf(await toolbox.call('read_skill', { skill_name: skill, file }, MODEL));
      expect(await read('three', '../../references/linked.md')).toBe('Be kind. {{self}}');
      expect(workspace.stored('skill/four/.source/references/rules.md')).toBe('Own.');
    },
  );

  spec('INS-89', 'have limits, which a check of the source names', async () => {
    const workspace = createInstallWorkspace();
    const many = Array.from({ length: 260 }, (_, at) => `docs/${at}.md`);
    const directory = workspace.source('kit', {
      ...Object.fromEntries(many.map((path) => [path, 'x'])),
      'big.bin': Buffer.alloc(4 * 1024 * 1024 + 1),
      'skills/one/SKILL.md': `---\nname: one\ndescription: D.\n---\n${['big.bin', ...many].map((path) => `../../${path}`).join('\n')}`,
    });
    const { stdout } = await workspace.run('check', directory);
    expect(stdout).toContain('names 5 files outside of the skill that will not be installed with it');
    await workspace.json('add', directory, '--yes', '--register-only');
    await workspace.json('install', 'one', '--yes');
    const { stdout: listed } = await workspace.run('call', 'read_skill', 'one', '--file', '../../docs');
    expect(listed).toContain('… and more');
  });
});
