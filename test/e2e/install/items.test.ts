// Installing, upgrading and uninstalling items.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createInstallWorkspace, DETECT, type InstallWorkspace, WORKED } from '../../support/install.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';

const skill = (name: string, text = 'Text.'): string =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${text}\n`;

async function installWorked(workspace: InstallWorkspace, ...flags: string[]): Promise<string> {
  const source = workspace.source('tooling', WORKED);
  await workspace.json('add', source, '--yes', ...flags);
  return source;
}

const statesOf = async (workspace: InstallWorkspace): Promise<Record<string, string[]>> => {
  const { items } = await workspace.json('list', '--installed');
  return Object.fromEntries(
    items.map((item: { effective: string; states: string[] }) => [item.effective, item.states]),
  );
};

describe('files and links', () => {
  spec(
    'INS-21 INS-34 INS-35',
    'creates store paths, links and records of each kind, with and without a prefix',
    async () => {
      for (const [flags, prefix] of [
        [[], ''],
        [['--namespace', 'jk'], 'jk:'],
      ] as const) {
        const workspace = createInstallWorkspace();
        const source = workspace.source('all', {
          ...WORKED,
          'agents/helper.md': 'Agent.',
          'rules/style.md': 'Rule.',
        });
        await workspace.json('add', source, '--yes', ...flags);
        const store = join(workspace.wieldHome, 'store');
        const links = {
          [`skills/${prefix.replace(':', '-')}scan`]: join(store, `skill/${prefix}scan`),
          'agents/helper.md': join(store, `agent/${prefix}helper/helper.md`),
          [`rules/${prefix}style.md`]: join(store, `rule/${prefix}style/style.md`),
        };
        for (const [link, target] of Object.entries(links))
          expect(readlinkSync(join(workspace.home, '.claude', link))).toBe(target);
        expect(readFileSync(join(workspace.home, '.claude/agents/helper.md'), 'utf8')).toBe('Agent.');
        const { items } = await workspace.json('recall');
        const tool = items.find((item: { kind: string }) => item.kind === 'tool');
        expect(tool).toMatchObject({
          store: join(store, `tool/${prefix}detect`),
          links: [],
          bin: 'detect.sh',
          source: 'all',
        });
        const scan = items.find((item: { kind: string }) => item.kind === 'skill');
        expect(scan.links).toEqual([join(workspace.home, `.claude/skills/${prefix.replace(':', '-')}scan`)]);
        expect(scan.references).toContainEqual({
          kind: 'tool',
          name: 'detect',
          value: join(store, `tool/${prefix}detect/detect.sh`),
        });
        for (const item of items) {
          expect(item.sourceHash).toMatch(/^[0-9a-f]{64}$/);
          expect(lstatSync(item.store).isSymbolicLink()).toBe(true);
        }
        await workspace.json('forget', `tool:${prefix}detect`, '--yes');
        expect(existsSync(join(store, `tool/${prefix}detect`))).toBe(false);
      }
    },
  );

  spec('INS-34', 'links into the configured agent homes, and removes them when they are empty', async () => {
    const workspace = createInstallWorkspace();
    workspace.config('[install]\nhomes = ["~/one", "~/two/deep"]\n');
    await installWorked(workspace);
    for (const home of ['one', 'two/deep'])
      expect(existsSync(join(workspace.home, home, 'skills/scan/SKILL.md'))).toBe(true);
    await workspace.json('remove-source', 'tooling', '--yes');
    for (const home of ['one', 'two']) expect(existsSync(join(workspace.home, home))).toBe(false);
  });

  spec(
    'INS-24',
    'rejects links out of an item, special files and deep trees, and preserves executable bits',
    async () => {
      const workspace = createInstallWorkspace();
      const source = workspace.source('trees', {
        'tools/good/good!': '#!/bin/sh\n',
        'tools/good/plain': '',
        'tools/linked/x': '',
        'tools/deep/x': '',
      });
      symlinkSync('/etc/passwd', join(source, 'tools/linked/passwd'));
      mkdirSync(join(source, 'tools/piped'));
      execFileSync('mkfifo', [join(source, 'tools/piped/fifo')]);
      mkdirSync(join(source, 'tools/deep', ...Array.from({ length: 130 }, () => 'd')), { recursive: true });
      await workspace.json('add', source);
      for (const name of ['deep', 'piped'])
        expect((await workspace.fail('install', '--yes', name)).code).toBe('invalid_definition');
      expect((await workspace.fail('install', '--yes', 'linked')).code).toBe('path_escape');
      await workspace.json('install', '--yes', 'good');
      const mode = (file: string): number => lstatSync(join(workspace.wieldHome, 'store/tool/good', file)).mode & 0o111;
      expect([mode('good') !== 0, mode('plain')]).toEqual([true, 0]);
    },
  );

  spec('INS-83', 'links into an agent home once, however it is spelled', async () => {
    const workspace = createInstallWorkspace();
    const at = (name: string): string => join(workspace.home, name);
    const homes = ['~/.claude', at('.claude'), `${at('.claude')}/../.claude/`, '~/.agents'];
    workspace.config(`[install]\nhomes = ${JSON.stringify(homes)}\n`);
    symlinkSync('.claude', at('.agents'));
    await workspace.json('add', workspace.source('starter', { 'skills/greet/SKILL.md': skill('greet') }), '--yes');
    expect((await workspace.json('recall')).items[0].links).toEqual([at('.claude/skills/greet')]);
    expect((await workspace.json('config', 'homes')).homes).toEqual([at('.claude')]);
    // Two homes become one.
    workspace.config('[install]\nhomes = ["~/.claude", "~/.codex"]\n');
    await workspace.json('doctor', '--fix', '--yes');
    rmSync(at('.codex'), { recursive: true });
    symlinkSync('.claude', at('.codex'));
    await workspace.json('doctor', '--fix', '--yes');
    await workspace.json('install', 'greet', '--force', '--yes');
    expect(readFileSync(at('.claude/skills/greet/SKILL.md'), 'utf8')).toContain('greet');
    expect((await workspace.json('config', 'homes', 'add', '--yes', at('.codex'))).homes).toEqual(['~/.codex']);
    await workspace.json('uninstall', '--yes', 'greet');
    expect(existsSync(at('.claude/skills/greet'))).toBe(false);
  });

  spec('INS-25', 'does not overwrite a file at the path of a link, and moves it aside with --force', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('tooling', WORKED));
    const mine = join(workspace.home, '.claude/skills/scan');
    mkdirSync(mine, { recursive: true });
    writeFileSync(join(mine, 'SKILL.md'), 'my own');
    const before = workspace.snapshot();
    const error = await workspace.fail('install', '--yes', 'scan');
    expect([error.code, error.message]).toEqual(['conflict', expect.stringContaining(mine)]);
    expect(workspace.snapshot()).toEqual(before);
    await workspace.json('install', '--yes', 'scan', '--force');
    const aside = Object.keys(workspace.snapshot()).find(
      (path) => path.includes('before-wield') && path.endsWith('SKILL.md'),
    );
    expect(readFileSync(join(workspace.home, aside!), 'utf8')).toBe('my own');
  });
});

describe('tools', () => {
  spec(
    'INS-20',
    'rejects a missing, absolute or outside entrypoint at install',
    async () => {
      const workspace = createInstallWorkspace();
      for (const [bin, code] of [
        ['nothing.sh', 'invalid_definition'],
        ['/bin/sh', 'path_escape'],
        ['../x/y', 'path_escape'],
        ['sub', 'invalid_definition'],
      ]) {
        const name = `t${bin!.length}`;
        const source = workspace.source(name, {
          [`tools/${name}/TOOL.md`]: `---\nbin: ${bin}\n---\n`,
          [`tools/${name}/sub/x`]: '',
        });
        await workspace.json('add', source);
        expect([bin, (await workspace.fail('install', '--yes', name)).code]).toEqual([bin, code]);
      }
      expect(existsSync(join(workspace.wieldHome, 'store'))).toBe(false);
    },
    30_000,
  );

  spec('INS-20', 'describes a tool by TOOL.md everywhere, else by its script', async () => {
    const workspace = createInstallWorkspace();
    const script = '#!/bin/sh\n# @description From the script.\necho\n';
    await workspace.json(
      'add',
      workspace.source('said', {
        'tools/both/TOOL.md': '---\ndescription: From TOOL.md.\n---\n',
        'tools/both/both!': script,
        'tools/one/one!': script,
      }),
      '--yes',
    );
    const describedBy = async (...args: string[]) =>
      (await workspace.run('list', ...args)).stdout.match(/From [\w .]+\./g)?.sort();
    expect(await describedBy()).toEqual(['From TOOL.md.', 'From the script.']);
    expect(await describedBy('--installed')).toEqual(['From TOOL.md.']);
  });

  spec('INS-22', 'calls an installed tool like a script, with the schema of its header or TOOL.md', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('callable', {
      ...DETECT,
      'tools/plain/TOOL.md': '---\ndescription: Say a word.\nbin: say\nparams:\n  word:\n    type: string\n---\n',
      'tools/plain/say!': '#!/bin/sh\nprintf "%s %s" "$WIELD_PARAM_WORD" "$PWD"\n',
    });
    await workspace.json('add', source, '--yes', '--namespace', 'my');
    const run = await workspace.run('call', 'my:plain', '--word', 'hello');
    expect(run.stdout).toBe(`hello ${workspace.dir}`);
    expect((await workspace.run('call', 'my:plain', '--other', 'x')).status).toBe(2);
    const shown = await workspace.json('show', 'my:detect');
    expect(shown.input.properties).toEqual({ path: { type: 'string', description: 'Where to look' } });
    expect(shown.origin).toMatchObject({ format: 'package', owner: 'package', source: 'callable' });
    const listed = (await workspace.json('list')).tools.map(({ name }: { name: string }) => name);
    expect(listed).toEqual(['my:detect', 'my:plain']);
  });

  spec('INS-22', 'calls a compiled program', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('native', { 'tools/native/native!': readFileSync('/bin/true') });
    await workspace.json('add', source, '--yes');
    expect((await workspace.run('call', 'native')).status).toBe(0);
  });

  spec('INS-23', 'blocks models from a modified tool until it is accepted, and warns a person', async () => {
    const workspace = createInstallWorkspace();
    await installWorked(workspace);
    const model = async () => {
      const toolbox = workspace.toolbox();
      return toolbox.call('detect', { path: '.' }, { caller: { kind: 'model', door: 'mcp' } });
    };
    expect((await model()).ok).toBe(true);
    writeFileSync(join(workspace.wieldHome, 'store/tool/detect/lib.sh'), 'detect() { echo altered; }\n');
    const refused = await model();
    expect([refused.ok, refused.error?.code]).toEqual([false, 'integrity']);
    expect(refused.error?.hint).toContain('install --accept tool:detect');
    const person = await workspace.run('call', 'detect', '--path', '.');
    expect(person.stdout).toBe('altered\n');
    expect(person.stderr).toContain('its files were modified after it was installed');
    const verified = await workspace.run('verify');
    expect([verified.status, verified.stderr]).toEqual([7, expect.stringContaining('tool detect: locally modified')]);
    await workspace.json('install', '--yes', '--accept', 'tool:detect');
    expect((await model()).ok).toBe(true);
    expect((await workspace.run('call', 'detect', '--path', '.')).stderr).toBe('');
    expect((await workspace.run('verify')).status).toBe(0);
  });

  spec('RES-2 INS-22', 'does not take a directory of the same name for an installed tool', async () => {
    const workspace = createInstallWorkspace();
    await installWorked(workspace);
    mkdirSync(join(workspace.dir, 'detect'));
    expect((await workspace.fail('call', './detect')).code).toBe('not_found');
    expect((await workspace.run('call', 'detect', '--path', '.')).status).toBe(0);
  });

  spec('MOD-25', 'runs the verb for its alias, and reports a tool of the same name', async () => {
    const workspace = createInstallWorkspace();
    workspace.script('recall', '#!/bin/sh\n# @description Mine.\necho mine\n');
    expect((await workspace.json('recall')).items).toEqual([]);
    expect((await workspace.run('call', 'recall')).stdout).toBe('mine\n');
    expect((await workspace.run('help', 'forget')).stdout).toContain('wield uninstall');
    const doctor = await workspace.run('introspect', '--json');
    expect(JSON.parse(doctor.stdout).problems).toMatchObject([
      { message: 'has no command: "recall" is a command of wield' },
    ]);
  });
});

describe('status and upgrade', () => {
  spec('INS-26', 'distinguishes clean, upstream changed, locally modified, missing and broken link', async () => {
    const workspace = createInstallWorkspace();
    const source = await installWorked(workspace);
    expect(await statesOf(workspace)).toEqual({ detect: ['clean'], scan: ['clean'] });
    expect((await workspace.run('introspect')).status).toBe(0);
    writeFileSync(join(source, 'tools/detect/lib.sh'), 'detect() { echo new; }\n');
    expect(await statesOf(workspace)).toEqual({ detect: ['upstream changed'], scan: ['clean'] });
    writeFileSync(join(workspace.wieldHome, 'store/skill/scan/resources/notes.md'), 'mine');
    expect((await statesOf(workspace)).scan).toEqual(['locally modified']);
    rmSync(join(workspace.home, '.claude/skills/scan'));
    expect((await statesOf(workspace)).scan).toEqual(['locally modified', 'broken link']);
    rmSync(join(workspace.wieldHome, 'store/tool/detect'));
    expect((await statesOf(workspace)).detect).toEqual(['missing', 'upstream changed']);
    const doctor = await workspace.run('doctor');
    expect(doctor.status).toBe(1);
    for (const message of [
      'changed in its source',
      'was modified locally',
      'is missing from the store',
      'has a missing or changed link',
    ])
      expect(doctor.stdout).toContain(message);
  });

  spec('INS-26', 'hashes modes, and only tracked files into the source hash', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', {
      ...WORKED,
      '.gitignore': 'out\n',
      'wield.toml': '[[hooks]]\nrun = "echo built > tools/detect/out"\n',
    });
    await workspace.json('add', url, '--yes', '--run-hooks');
    expect(workspace.stored('tool/detect/out')).toBe('built\n');
    const hash = (await workspace.json('recall')).items[0].sourceHash;
    const plain = createInstallWorkspace();
    await plain.json('add', plain.source('plain', WORKED), '--yes');
    expect((await plain.json('recall')).items[0].sourceHash).toBe(hash);
    chmodSync(join(workspace.wieldHome, 'store/tool/detect/lib.sh'), 0o755);
    expect((await statesOf(workspace)).detect).toEqual(['locally modified']);
  });

  spec.thorough(
    'INS-27',
    'previews commits and content, and keeps locally modified items on upgrade',
    async () => {
      const workspace = createInstallWorkspace();
      const url = workspace.repository('repo', WORKED);
      await workspace.json('add', url, '--yes');
      const old = workspace.git('repo', 'rev-parse', 'HEAD').trim();
      workspace.source('repo', {
        'tools/detect/lib.sh': 'detect() { echo newer; }\n',
        'skills/scan/SKILL.md': skill('scan', 'New.'),
      });
      workspace.git('repo', 'commit', '--quiet', '--all', '-m', 'Next');
      const now = workspace.git('repo', 'rev-parse', 'HEAD').trim();
      const before = workspace.snapshot();
      const dry = await workspace.json('upgrade', '--dry-run');
      expect(workspace.snapshot()).toEqual(before);
      const detect = dry.items.find((item: { kind: string }) => item.kind === 'tool');
      expect([detect.before.commit, detect.commit, detect.change]).toEqual([old, now, 'update']);
      expect(detect.files).toEqual([
        expect.objectContaining({
          path: 'lib.sh',
          added: 1,
          removed: 1,
          lines: expect.arrayContaining(['+ detect() { echo newer; }']),
        }),
      ]);
      expect((await workspace.run('upgrade', '--dry-run')).stdout).toContain(
        `${old.slice(0, 12)} → ${now.slice(0, 12)}`,
      );
      // What it fetched is not kept.
      expect((await workspace.run('upgrade', '--dry-run', '--offline')).stdout).toBe('  everything is up to date\n');
      const edited = join(workspace.wieldHome, 'store/skill/scan/resources/notes.md');
      writeFileSync(edited, 'my notes');
      const { kept, items } = await workspace.json('evolve', '--yes');
      expect(kept).toEqual([{ kind: 'skill', effective: 'scan', source: expect.any(String), why: 'locally modified' }]);
      expect((await workspace.run('upgrade')).stdout).toContain('nothing upgraded');
      expect(items.map((item: { effective: string }) => item.effective)).toEqual(['detect']);
      expect(readFileSync(edited, 'utf8')).toBe('my notes');
      expect((await workspace.run('call', 'detect', '--path', '.')).stdout).toBe('newer\n');
      await workspace.json('upgrade', '--force', '--yes');
      expect(workspace.stored('skill/scan/SKILL.md')).toContain('New.');
      expect((await workspace.json('upgrade')).items).toEqual([]);
    },
    60_000,
  );

  spec('INS-27 INS-34', 'reports and upgrades a changed prefix as one rename', async () => {
    const workspace = createInstallWorkspace();
    const source = await installWorked(workspace);
    await workspace.json('add', source, '--namespace', 'jk', '--register-only');
    expect(await statesOf(workspace)).toEqual({ detect: ['renamed'], scan: ['renamed'] });
    expect((await workspace.run('doctor')).stdout).toContain('scan → jk:scan');
    const { items } = await workspace.json('upgrade', '--yes');
    expect(items.map(({ change, effective }: { change: string; effective: string }) => [change, effective])).toEqual([
      ['rename', 'jk:detect'],
      ['rename', 'jk:scan'],
    ]);
    expect(await statesOf(workspace)).toEqual({ 'jk:detect': ['clean'], 'jk:scan': ['clean'] });
    expect(existsSync(join(workspace.home, '.claude/skills/scan'))).toBe(false);
    expect(existsSync(join(workspace.home, '.claude/skills/jk-scan/SKILL.md'))).toBe(true);
  });

  spec('INS-92', 'installs an item that requires something that is no item, unless it names a kind', async () => {
    const workspace = createInstallWorkspace();
    const requiring = (name: string, requires: string) =>
      `---\nname: ${name}\ndescription: D.\nrequires: ${requires}\n---\n`;
    const source = workspace.source('tooling', {
      ...WORKED,
      'skills/program/SKILL.md': requiring('program', '[python3, scan]'),
      'skills/wrong/SKILL.md': requiring('wrong', '[tool:none]'),
    });
    await workspace.json('add', source);
    const { items } = await workspace.json('install', '--yes', 'program');
    expect(items.map(({ effective }: { effective: string }) => effective)).toEqual(['detect', 'scan', 'program']);
    expect((await workspace.fail('install', '--yes', 'wrong')).code).toBe('bad_reference');
    const { stdout } = await workspace.run('check', source);
    expect(stdout).toContain('requires python3, which is no item of this source');
    expect(stdout).not.toContain('requires scan');
  });

  spec(
    'INS-28',
    'installs dependencies, names dependents on uninstall, and marks them pending when a bin changes',
    async () => {
      const workspace = createInstallWorkspace();
      const source = workspace.source('tooling', {
        ...WORKED,
        'skills/asks/SKILL.md': '---\nname: asks\ndescription: Asks.\nrequires: [skill:scan]\n---\n{{ns:scan}}\n',
      });
      await workspace.json('add', source);
      const { items } = await workspace.json('install', '--yes', 'asks');
      expect(
        items.map(({ effective, neededBy }: { effective: string; neededBy: string }) => [effective, neededBy]),
      ).toEqual([
        ['detect', 'scan'],
        ['scan', 'asks'],
        ['asks', null],
      ]);
      const refused = await workspace.fail('uninstall', 'detect');
      expect([refused.code, refused.status, refused.message]).toEqual([
        'needs_approval',
        5,
        expect.stringContaining('tool detect, needed by skill scan'),
      ]);
      renameSync(join(source, 'tools/detect/detect.sh'), join(source, 'tools/detect/moved.sh'));
      workspace.source('tooling', { 'tools/detect/TOOL.md': '---\ndescription: D.\nbin: moved.sh\n---\n' });
      expect(await statesOf(workspace)).toEqual({
        detect: ['upstream changed'],
        scan: ['pending'],
        asks: ['clean'],
      });
      await workspace.json('upgrade', '--yes');
      expect(workspace.stored('skill/scan/SKILL.md')).toContain('~/.wield/store/tool/detect/moved.sh .');
      const { removed } = await workspace.json('uninstall', 'detect', 'scan', 'asks', '--yes');
      expect(removed).toHaveLength(3);
    },
  );

  spec('INS-29', 'rejects one name from two sources, and links agents without their prefix', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('one', { ...DETECT, 'agents/a.md': 'One.' }), '--yes');
    const other = workspace.source('other', { ...DETECT, 'agents/a.md': 'Other.' });
    await workspace.json('add', other);
    const error = await workspace.fail('install', '--yes', '--all', '--source', 'other');
    expect([error.code, error.status, error.hint]).toEqual(['conflict', 4, expect.stringContaining('--namespace')]);
    await workspace.json('add', other, '--namespace', 'two');
    await workspace.json('install', '--yes', 'two:detect');
    expect((await workspace.fail('install', '--yes', 'agent:two:a')).message).toContain('agents/a.md');
    expect((await workspace.fail('install', '--yes', 'tool:none')).code).toBe('not_found');
  });
});

spec('INS-23', 'restores files and links byte for byte after a failure', async () => {
  const workspace = createInstallWorkspace();
  await installWorked(workspace);
  const before = workspace.snapshot();
  workspace.source('tooling', {
    'tools/detect/lib.sh': 'new\n',
    'tools/detect/TOOL.md': '---\nbin: gone.sh\n---\n',
  });
  expect((await workspace.fail('upgrade', '--yes')).code).toBe('invalid_definition');
  expect(workspace.snapshot()).toEqual(before);
  workspace.source('tooling', {
    ...WORKED,
    'wield.toml':
      '[[items]]\nkind = "tool"\nname = "detect"\npath = "tools/detect"\nbin = "lib.sh"\ninstall = "echo x > made; exit 3"\n[[items]]\nkind = "skill"\nname = "scan"\npath = "skills/scan"\n',
  });
  const error = await workspace.fail('upgrade', '--yes', '--run-hooks');
  expect([error.code, error.message]).toEqual(['tool_failed', expect.stringContaining('status 3')]);
  expect(workspace.snapshot()).toEqual(before);
});

spec(
  'INS-32',
  'prints one JSON document per verb, and rejects destructive verbs without --yes',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('tooling', WORKED);
    for (const args of [
      ['add', source],
      ['install', 'scan', '--dry-run'],
      ['install', '--yes', 'scan'],
      ['install', '--yes', 'scan'],
      ['list', '--installed'],
      ['list', '--available'],
      ['search', 'detect'],
      ['probe', 'detect'],
      ['sync'],
      ['upgrade', '--dry-run'],
      ['upgrade'],
      ['verify'],
      ['check', source],
      ['uninstall', 'scan', '--dry-run'],
      ['remove-source', 'tooling', '--dry-run'],
      ['unmeld', 'tooling', '--dry-run'],
    ]) {
      const run = await workspace.run(...args, '--json');
      expect([args, run.status, run.stdout.split('\n').length]).toEqual([args, 0, 2]);
      expect(JSON.parse(run.stdout)).toMatchObject({ ok: true, schema: 1 });
    }
    for (const args of [
      ['uninstall', 's*'],
      ['uninstall', 'scan'],
      ['remove-source', 'tooling'],
    ])
      expect([args, (await workspace.fail(...args)).code]).toEqual([args, 'needs_approval']);
    expect(Object.keys(await statesOf(workspace))).toEqual(['detect', 'scan']);
  },
  60_000,
);

specIf(hasPty, NO_PTY, 'INS-28', 'names dependents and asks at a terminal', async () => {
  const workspace = createInstallWorkspace();
  await installWorked(workspace);
  const remove = (answer: string) =>
    wieldAtTerminal(workspace, ['uninstall', 'detect'], {
      answers: [['anyway?', `${answer}\n`]],
      env: { NO_COLOR: '1' },
    });
  expect((await remove('n')).screen).toContain('needed  by skill scan');
  expect(Object.keys(await statesOf(workspace))).toEqual(['detect', 'scan']);
  expect((await remove('y')).screen).toContain('removed  tool detect');
  expect(Object.keys(await statesOf(workspace))).toEqual(['scan']);
});
