// Adding sources, scanning them, manifests, and how git is run.

import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json } from '../../support/cli.js';
import { createInstallWorkspace, DETECT, type Files, WORKED, writeFiles } from '../../support/install.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';

const skill = (name: string): string => `---\nname: ${name}\ndescription: About ${name}.\n---\nText.\n`;

describe('adding', () => {
  spec('INS-1', 'only registers without a terminal, and exits 0', async () => {
    const workspace = createInstallWorkspace();
    const run = await workspace.run('add', workspace.source('tooling', WORKED));
    expect(run.status).toBe(0);
    expect(run.stdout).toContain('offers   1 tool, 1 skill');
    expect(run.stdout).toContain('nothing installed');
    expect(existsSync(join(workspace.wieldHome, 'store'))).toBe(false);
    expect((await workspace.json('list', '--available')).items).toHaveLength(2);
    // A local directory is read every time.
    workspace.source('tooling', { 'skills/later/SKILL.md': skill('later') });
    expect((await workspace.json('list', '--available')).items).toHaveLength(3);
  });

  spec('INS-27', 'is followed by an upgrade that fetches the source, though nothing is installed', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('later', { 'skills/a/SKILL.md': skill('a') });
    await workspace.json('add', url, '--register-only');
    writeFiles(url.slice('file://'.length), { 'skills/b/SKILL.md': skill('b') });
    workspace.git('later', 'add', '--all');
    workspace.git('later', 'commit', '--quiet', '--message', 'Add b');
    await workspace.json('upgrade', '--yes');
    expect((await workspace.json('list', '--available')).items).toHaveLength(2);
  });

  spec('INS-79', 'a directory may have spaces and other letters in its path; a location of git may not', async () => {
    const workspace = createInstallWorkspace();
    const directory = workspace.source('wörk place/my tooling', WORKED);
    expect((await workspace.json('add', directory, '--yes')).source.items).toHaveLength(2);
    expect((await workspace.run('call', 'detect', '--path', '.')).stdout).toBe('unknown\n');
    expect((await workspace.run('verify')).status).toBe(0);
    await workspace.json('remove-source', 'my-tooling', '--yes');
    for (const location of [
      'https://example.com/a b',
      'git@example.com:a b',
      'no such place',
      `${directory}\n`.replace('my', 'm\ny'),
    ])
      expect([location, (await workspace.fail('add', location)).code]).toEqual([location, 'usage']);
  });

  spec('INS-75', 'counts the scripts of a source without items, and says what becomes of them', async () => {
    const workspace = createInstallWorkspace();
    const files = { 'tools/fs_cat.sh': '#!/bin/sh\n# @describe Read.\n', 'README.md': 'R', 'bin/get.py': 'x' };
    const run = await workspace.run('add', workspace.source('scripts', files));
    expect(run.stdout).toContain(
      'skipped  2 scripts: copy those that you want to .agents/tools  (bin/get.py, tools/fs_cat.sh)',
    );
    expect((await workspace.json('add', workspace.source('none', { 'README.md': 'R' }))).source.skipped).toEqual([]);
    const skills = workspace.source('both', { 'skills/a/SKILL.md': skill('a'), 'skills/a/run.sh': 'x' });
    expect((await workspace.json('add', skills)).source.skipped).toEqual([]);
  });

  spec.thorough(
    'INS-1 INS-7',
    'clones a repository and pins it to a branch, a tag or a verified commit',
    async () => {
      const workspace = createInstallWorkspace();
      const url = workspace.repository('repo', WORKED);
      const first = workspace.git('repo', 'rev-parse', 'HEAD').trim();
      workspace.git('repo', 'tag', '-a', 'v1', '-m', 'One');
      workspace.source('repo', { 'skills/next/SKILL.md': skill('next') });
      workspace.git('repo', 'add', '--all');
      workspace.git('repo', 'commit', '--quiet', '-m', 'Next');
      const second = workspace.git('repo', 'rev-parse', 'HEAD').trim();
      workspace.git('repo', 'checkout', '--quiet', '-b', 'side');

      const add = (...flags: string[]) => workspace.json('add', url, ...flags).then(({ source }) => source);
      const tagged = await add('--pin', 'tag=v1');
      expect([tagged.commit, tagged.ref, tagged.items.length]).toEqual([first, 'v1', 2]);
      expect((await add('--pin', first)).commit).toBe(first);
      const branch = await add('--pin', 'branch=main');
      expect([branch.commit, branch.ref, branch.items.length]).toEqual([second, 'main', 3]);
      expect((await add('--pin', 'side')).pin).toEqual({ to: 'branch', name: 'side' });
      expect((await workspace.fail('add', url, '--pin', 'tag=none')).code).toBe('not_found');
      expect((await workspace.fail('add', url, '--pin', 'f'.repeat(40))).code).toBe('unavailable');
      expect((await workspace.json('sync')).sources).toHaveLength(1);
    },
    60_000,
  );

  specIf(hasPty, NO_PTY, 'INS-1', 'asks at a terminal whether to install', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('tooling', WORKED);
    const run = await wieldAtTerminal(workspace, ['add', source], {
      answers: [['Install both?', 'y\n']],
    });
    expect(run.screen).toContain('install  tool detect');
    expect(run.screen).toContain('installed  skill scan');
    expect(run.status).toBe(0);
    // The source is registered whatever the answer is.
    const other = createInstallWorkspace();
    const declined = await wieldAtTerminal(other, ['add', other.source('tooling', WORKED)], {
      answers: [['Install both?', 'n\n']],
    });
    expect(declined.screen).toContain('nothing installed; run wield install NAME');
    expect(declined.screen).not.toContain('nothing was changed');
    const offered = await other.toolbox().list({ caller: { kind: 'model', door: 'mcp' } });
    expect(JSON.stringify(offered)).not.toContain('detect');
    expect((await other.json('list', '--available')).items).toHaveLength(2);
  });

  spec('INS-91', 'names the commands for the address of a page', async () => {
    const workspace = createInstallWorkspace();
    const hintOf = async (address: string) => {
      const { code, hint } = await workspace.fail('add', address);
      return [code, hint];
    };
    const add = 'run: wield add https://github.com/acme/kit --pin branch=main --register-only, then wield install';
    for (const path of ['tree/main/skills/foo', 'tree/main/skills/foo/', 'blob/main/skills/foo/SKILL.md'])
      expect(await hintOf(`https://github.com/acme/kit/${path}`)).toEqual(['usage', `${add} foo`]);
    expect(await hintOf('https://github.com/acme/kit/tree/main')).toEqual(['usage', `${add} --all`]);
    expect(await hintOf('https://git.example.org/a/b/kit/-/blob/dev/agents/x.md')).toEqual([
      'usage',
      'run: wield add https://git.example.org/a/b/kit --pin branch=dev --register-only, then wield install x',
    ]);
    expect(await hintOf('https://github.com/acme/kit/tree/$(id)/x')).toEqual([
      'usage',
      "run: wield add https://github.com/acme/kit --pin 'branch=$(id)' --register-only, then wield install x",
    ]);
  });

  spec(
    'INS-1',
    'adds nested sources, and stops at a cycle',
    async () => {
      const workspace = createInstallWorkspace();
      const first = workspace.source('first', {
        'wield.toml': '[[sources]]\nsource = "./second"\nnamespace = "sub"\n',
        'skills/one/SKILL.md': skill('one'),
        'second/skills/two/SKILL.md': skill('two'),
        'second/wield.toml': '[discover]\nsources = [{ source = ".." }]\n',
      });
      const { nested } = await workspace.json('add', first, '--yes');
      expect(nested.map(({ namespace }: { namespace: string }) => namespace)).toEqual(['sub']);
      const { items } = await workspace.json('list', '--installed');
      expect(items.map(({ effective }: { effective: string }) => effective)).toEqual(['one', 'sub:two']);
      await workspace.json('remove-source', first, '--yes');
      expect((await workspace.json('list', '--available')).items).toEqual([]);
    },
    30_000,
  );
});

describe('scanning', () => {
  spec('INS-2 INS-36', 'finds items by convention under each root, and ignores loose files in tools', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('conventional', {
      'skills/a/SKILL.md': skill('a'),
      'skills/none/README.md': 'no skill',
      'agents/b.md': '---\ndescription: B.\n---\n',
      'agents/notes.txt': '',
      'rules/c.md': 'Rule.',
      'tools/bare/data.txt': '',
      'tools/loose.sh': '#!/bin/sh\n',
      'packages/x/skills/d/SKILL.md': skill('d'),
    });
    const names = (found: { kind: string; effective: string }[]) => found.map((one) => `${one.kind}:${one.effective}`);
    const { source: added } = await workspace.json('add', source, '--yes');
    expect(names(added.items)).toEqual(['tool:bare', 'skill:a', 'skill:d', 'agent:b', 'rule:c']);
    expect(added.items[0]).toMatchObject({ bin: null, description: null });
    expect((await workspace.json('list', '--installed')).items).toHaveLength(5);
    expect((await workspace.run('call', 'bare')).status).toBe(3);
    const { source: rooted } = await workspace.json('add', source, '--root', 'packages/*');
    expect(names(rooted.items)).toEqual(['skill:d']);
    expect((await workspace.fail('add', source, '--root', '../elsewhere')).code).toBe('path_escape');
  });

  spec('INS-3 INS-36', 'uses items and globs of the manifest instead of the convention', async () => {
    const workspace = createInstallWorkspace();
    const base: Files = {
      'skills/hidden/SKILL.md': skill('hidden'),
      'pkg/a/tool/run!': '#!/bin/sh\n',
      'pkg/b/tool/x': '',
    };
    const source = workspace.source('declared', {
      ...base,
      'wield.toml':
        '[source]\ndescription = "Declared"\nnamespace = "ns"\n[discover]\ntools = { include = ["pkg/*/tool"], exclude = ["pkg/b/*"] }\n[[items]]\nkind = "rule"\nname = "house"\npath = "text/style.md"\nlink = "rules/house-style.md"\ndescription = "House"\n',
      'text/style.md': 'Style.',
    });
    const { source: added } = await workspace.json('add', source, '--yes');
    expect(added.description).toBe('Declared');
    expect(added.items.map((one: { effective: string }) => one.effective)).toEqual(['ns:a', 'ns:house']);
    expect(readFileSync(join(workspace.home, '.claude/rules/house-style.md'), 'utf8')).toBe('Style.');
    const old = workspace.source('older', {
      'mind.toml': '[source]\nprefix = "jk"\nmin-mind-version = "9"\n',
      ...DETECT,
    });
    expect((await workspace.json('add', old)).source.namespace).toBe('jk');
    const newer = workspace.source('newer', { 'wield.toml': '[source]\nmin-version = "99.1"\n', ...DETECT });
    expect((await workspace.fail('add', newer)).code).toBe('unavailable');
  });

  spec(
    'INS-3 INS-5',
    'rejects an invalid manifest with key and line',
    async () => {
      const workspace = createInstallWorkspace();
      const cases: readonly (readonly [manifest: string, line: number, message: RegExp])[] = [
        ['[source]\nnamspace = "x"\n', 2, /unknown key "namspace"/],
        ['[[items]]\nkind = "skill"\nname = "a"\npath = "skills/a"\nbin = "x"\n', 5, /bin is only allowed for tools/],
        ['[[items]]\nkind = "rule"\nname = "a"\npath = "r.md"\nbuild = "make"\n', 5, /build is only allowed for tools/],
        ['[[items]]\nkind = "tool"\nname = "a"\npath = "../x"\n', 4, /is outside the source/],
        ['[[items]]\nkind = "tool"\nname = "a"\npath = "t"\nlink = "/etc/x"\n', 5, /is outside the source/],
        [
          '[[items]]\nkind = "tool"\nname = "ok"\npath = "t"\n\n[[items]]\nkind = "tool"\nname = "a\\u202eb"\npath = "t"\n',
          8,
          /characters that are not allowed/,
        ],
        ['[[items]]\nkind = "widget"\nname = "a"\npath = "t"\n', 2, /kind must be/],
        ['[discover]\ntools = ["../*"]\n', 2, /is outside the source/],
        ['[[hooks]]\nrun = "true"\nevent = "later"\n', 3, /event must be/],
        ['[source\n', 1, /./],
      ];
      for (const [at, [manifest, line, message]] of cases.entries()) {
        const error = await workspace.fail('add', workspace.source(`bad-${at}`, { 'wield.toml': manifest, 't/x': '' }));
        expect([manifest, error.code, error.message]).toEqual([
          manifest,
          'invalid_definition',
          expect.stringMatching(new RegExp(`wield\\.toml:${line}: .*${message.source}`)),
        ]);
      }
      expect((await workspace.json('list', '--available')).items).toEqual([]);
    },
    60_000,
  );

  spec('INS-5', 'skips invalid names with a warning, and rejects links out of the source', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('odd', { 'skills/good/SKILL.md': skill('good') });
    for (const name of ['a\u200bb', 'c\u202ed', 'tab\tin', 'pаypal'])
      writeFiles(source, { [`skills/${name}/SKILL.md`]: skill('x') });
    const { source: added } = await workspace.json('add', source);
    expect(added.items.map((one: { name: string }) => one.name)).toEqual(['good']);
    expect(added.warnings).toHaveLength(4);
    mkdirSync(join(source, 'tools'));
    symlinkSync('/etc', join(source, 'tools/out'));
    expect((await workspace.fail('add', source)).code).toBe('path_escape');
  });

  spec('INS-6', 'rejects two items of the same kind and name', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('twice', {
      'a/skills/x/SKILL.md': skill('x'),
      'b/skills/x/SKILL.md': skill('x'),
    });
    const error = await workspace.fail('add', source, '--root', 'a', '--root', 'b');
    expect([error.code, error.status]).toEqual(['conflict', 4]);
    expect(error.message).toContain('a/skills/x and b/skills/x');
  });
});

spec('INS-7', 'does not let hooks, filters, submodules or configuration make git run programs', async () => {
  const workspace = createInstallWorkspace();
  const mark = join(workspace.dir, 'ran');
  const url = workspace.repository('repo', { ...WORKED, '.gitattributes': '* filter=evil\n' });
  workspace.git('repo', 'config', 'uploadpack.packObjectsHook', `touch ${mark}`);
  writeFileSync(
    join(workspace.home, '.gitconfig'),
    `[core]\n\thooksPath = ${workspace.home}/hooks\n\tfsmonitor = "touch ${mark}"\n[filter "evil"]\n\tsmudge = "touch ${mark}; cat"\n[url "ext::touch ${mark}"]\n\tinsteadOf = file://\n`,
  );
  writeFiles(workspace.home, { 'hooks/post-checkout!': `#!/bin/sh\ntouch ${mark}\n` });
  const run = await workspace.runWith(
    {
      env: {
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'core.fsmonitor',
        GIT_CONFIG_VALUE_0: `touch ${mark}`,
      },
    },
    'add',
    url,
    '--yes',
    '--json',
  );
  expect(run.stdout + run.stderr).toContain('"ok":true');
  expect(json(run).source.items).toHaveLength(2);
  expect(existsSync(mark)).toBe(false);
});
