// Attacks on installing: hostile sources and hostile callers.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createInstallWorkspace, DETECT, WORKED } from '../support/install.js';
import { patience } from '../support/patience.js';
import { spec } from '../support/spec.js';

const SKILL = '---\nname: x\ndescription: X.\n---\n';

describe('locations', () => {
  spec(
    'INS-7',
    'A27: rejects unsafe protocols, options and passwords in a location',
    async () => {
      const workspace = createInstallWorkspace();
      const mark = join(workspace.dir, 'ran');
      for (const address of [
        `ext::sh -c touch% ${mark}`,
        `ext::touch${mark}`,
        'http://example.org/repo',
        'git://example.org/repo',
        'fd::17/foo',
        '--upload-pack=touch /tmp/x',
        '-x@example.org:repo',
        '--config@example.org:repo',
        'ssh://-oProxyCommand=touch/x',
        'https://ada:secret@example.org/repo',
        'https://example.org/a\nb',
        'javascript:alert(1)',
      ]) {
        const run = await workspace.run('add', '--json', '--', address);
        expect([address, run.status]).toEqual([address, 2]);
        expect(run.stdout).not.toContain('secret');
      }
      expect(existsSync(mark)).toBe(false);
    },
    30_000,
  );

  spec('INS-7', 'A28: does not fetch submodules', async () => {
    const workspace = createInstallWorkspace();
    const script = '#!/bin/sh\n# @description Do harm.\necho marked-as-harm\n';
    const inner = workspace.repository('inner', { 'TOOL.md': '---\nbin: sub\n---\n', 'sub!': script });
    const url = workspace.repository('outer', WORKED);
    workspace.git('outer', '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'tools/sub');
    workspace.git('outer', 'config', '--file', '.gitmodules', 'submodule.tools/sub.fetchRecurseSubmodules', 'true');
    workspace.git('outer', 'commit', '--quiet', '--all', '-m', 'Sub');
    const expectNothing = async (): Promise<void> => {
      const found = spawnSync('grep', ['-rl', 'marked-as-harm', workspace.wieldHome, workspace.home]);
      expect([found.status, found.stdout.toString()]).toEqual([1, '']);
      expect((await workspace.run('call', 'sub')).status).toBe(3);
    };
    await workspace.json('add', url, '--yes');
    await expectNothing();
    workspace.source('outer', { 'tools/detect/more': 'more' });
    workspace.git('outer', 'add', '--all');
    workspace.git('outer', 'commit', '--quiet', '-m', 'More');
    await workspace.json('sync');
    await workspace.json('upgrade', '--yes');
    await expectNothing();
    expect(workspace.stored('tool/detect/more')).toBe('more');
    // A submodule with a command is refused with the reason of git, not with its progress.
    workspace.git('outer', 'config', '--file', '.gitmodules', 'submodule.tools/sub.update', '!touch ran');
    workspace.git('outer', 'commit', '--quiet', '--all', '-m', 'Command');
    const { code, message } = await workspace.fail('sync');
    expect([code, message]).toEqual(['unavailable', expect.stringContaining('gitmodules')]);
    expect(message).not.toContain('objects:');
    await expectNothing();
  });

  spec(
    'INS-7',
    'A29: runs nothing for a hostile .git/config or a bare repository in a tree',
    async () => {
      const workspace = createInstallWorkspace();
      const mark = join(workspace.dir, 'ran');
      const url = workspace.repository('hostile', {
        ...WORKED,
        'tools/detect/HEAD': 'ref: refs/heads/main\n',
        'tools/detect/config': `[core]\n\tbare = true\n\tfsmonitor = "touch ${mark}"\n`,
        'tools/detect/objects/x': '',
        'tools/detect/refs/x': '',
      });
      workspace.git('hostile', 'config', 'core.fsmonitor', `touch ${mark}`);
      workspace.git('hostile', 'config', 'core.sshCommand', `touch ${mark}`);
      await workspace.json('add', url.replace('file://', ''), '--yes');
      await workspace.json('remove-source', 'hostile', '--yes');
      await workspace.json('add', url, '--yes');
      await workspace.json('upgrade');
      await workspace.run('doctor');
      expect(existsSync(mark)).toBe(false);
    },
    30_000,
  );
});

// Sources are read, added, upgraded and checked; none of that runs what the repository configures.
spec(
  'INS-7',
  'A29: runs no filter, diff, hook or alias that a repository configures for itself',
  async () => {
    const workspace = createInstallWorkspace();
    const marks = join(workspace.dir, 'marks');
    mkdirSync(marks);
    const url = workspace.repository('filtered', {
      ...WORKED,
      '.gitattributes': '* filter=evil diff=evil merge=evil text\n*.sh export-subst\n',
    });
    const settings = {
      'filter.evil.smudge': `touch ${marks}/smudge; cat`,
      'filter.evil.clean': `touch ${marks}/clean; cat`,
      'filter.evil.process': `touch ${marks}/process`,
      'filter.evil.required': 'true',
      'diff.evil.textconv': `touch ${marks}/textconv`,
      'diff.evil.command': `touch ${marks}/diff`,
      'diff.external': `touch ${marks}/external`,
      'core.fsmonitor': `touch ${marks}/fsmonitor`,
      'core.hooksPath': `${marks}/hooks`,
      'core.pager': `touch ${marks}/pager`,
      'core.gitProxy': `touch ${marks}/proxy`,
      'uploadpack.packObjectsHook': `touch ${marks}/pack`,
      'credential.helper': `!touch ${marks}/credential`,
      'alias.ls-tree': `!touch ${marks}/alias`,
      'gpg.program': `touch ${marks}/gpg`,
    };
    for (const [key, value] of Object.entries(settings)) workspace.git('filtered', 'config', key, value);
    for (const hook of ['post-checkout', 'post-merge', 'reference-transaction', 'pre-auto-gc', 'post-index-change'])
      for (const directory of [join(marks, 'hooks'), join(url.slice('file://'.length), '.git/hooks')]) {
        mkdirSync(directory, { recursive: true });
        writeFileSync(join(directory, hook), `#!/bin/sh\ntouch ${marks}/${hook}\n`, { mode: 0o755 });
      }
    for (const location of [url, url.slice('file://'.length)]) {
      await workspace.json('add', location, '--yes');
      workspace.source('filtered', { 'tools/detect/more': location });
      await workspace.json('sync');
      await workspace.run('upgrade', '--yes');
      for (const verb of [['check', url.slice('file://'.length)], ['verify'], ['doctor'], ['list', '--available']])
        await workspace.run(...verb);
      expect(workspace.stored('tool/detect/lib.sh')).toBe(WORKED['tools/detect/lib.sh']);
      await workspace.json('remove-source', 'filtered', '--yes');
    }
    expect(readdirSync(marks)).toEqual(['hooks']);
  },
  60_000,
);

describe('content', () => {
  spec('HOOK-2', 'A30: runs no hook without approval, or with the approval of another source or item', async () => {
    const workspace = createInstallWorkspace();
    const mark = join(workspace.dir, 'ran');
    const tool = { 'tools/t/TOOL.md': `---\nbuild: touch ${mark}\n---\n` };
    await workspace.json('add', workspace.source('first', tool), '--yes', '--run-hooks', '--namespace', 'one');
    expect(existsSync(mark)).toBe(true);
    const other = workspace.source('second', tool);
    const { installed } = await workspace.json('add', other, '--yes', '--namespace', 'two');
    expect(installed[0].build).toBe('skipped');
    workspace.source('first', { 'tools/t/more': 'changed' });
    rmSync(mark);
    expect((await workspace.fail('upgrade', 'one:t', '--yes')).code).toBe('needs_approval');
    expect(existsSync(mark)).toBe(false);
  });

  spec('HOOK-2', 'A31: the same item of another source needs its own approval', async () => {
    const workspace = createInstallWorkspace();
    const mark = join(workspace.dir, 'ran');
    const tool = { 'tools/t/TOOL.md': `---\nbuild: touch ${mark}\n---\n` };
    const first = workspace.source('first', tool);
    await workspace.json('add', first, '--yes', '--run-hooks');
    expect(existsSync(mark)).toBe(true);
    await workspace.json('remove-source', 'first', '--yes');
    rmSync(mark);
    const second = workspace.source('second', tool);
    const { installed } = await workspace.json('add', second, '--yes');
    expect(installed[0].build).toBe('skipped');
    await workspace.json('sync');
    await workspace.json('upgrade', '--yes');
    // Nor a source that takes the name or the place of the approved one.
    await workspace.json('remove-source', 'second', '--yes');
    rmSync(first, { recursive: true });
    renameSync(second, first);
    writeFileSync(join(first, 'tools/t/more'), 'other bytes');
    expect((await workspace.json('add', first, '--yes')).installed[0].build).toBe('skipped');
    expect(existsSync(mark)).toBe(false);
  });

  spec(
    'INS-7',
    'rejects a moved tag until it is accepted',
    async () => {
      const workspace = createInstallWorkspace();
      const url = workspace.repository('repo', WORKED);
      workspace.git('repo', 'tag', 'v1');
      await workspace.json('add', url, '--pin', 'v1', '--yes');
      workspace.source('repo', { 'tools/detect/lib.sh': 'detect() { echo evil; }\n' });
      workspace.git('repo', 'commit', '--quiet', '--all', '-m', 'Evil');
      workspace.git('repo', 'tag', '--force', 'v1');
      const before = workspace.snapshot();
      for (const verb of ['sync', 'upgrade']) {
        const error = await workspace.fail(verb);
        expect([error.code, error.status, error.message]).toEqual(['integrity', 7, expect.stringContaining('moved')]);
      }
      expect(workspace.snapshot()).toEqual(before);
      await workspace.json('sync', '--accept');
      expect((await workspace.json('upgrade', '--yes')).items).toHaveLength(1);
    },
    30_000,
  );

  spec.thorough(
    'INS-7 HOOK-2',
    'A32: a force-pushed branch runs no new hook and changes nothing installed without consent',
    async () => {
      const workspace = createInstallWorkspace();
      const mark = join(workspace.dir, 'ran');
      const url = workspace.repository('repo', {
        ...WORKED,
        'wield.toml': '[[hooks]]\nrun = "sh setup.sh"\n',
        'setup.sh': 'true\n',
      });
      const pinned = workspace.git('repo', 'rev-parse', 'HEAD').trim();
      await workspace.json('add', url, '--yes', '--run-hooks');
      workspace.git('repo', 'checkout', '--quiet', '--orphan', 'other');
      workspace.source('repo', {
        'tools/detect/lib.sh': 'detect() { echo evil; }\n',
        'setup.sh': `touch ${mark}\n`,
      });
      workspace.git('repo', 'add', '--all');
      workspace.git('repo', 'commit', '--quiet', '-m', 'Another history');
      workspace.git('repo', 'branch', '--force', 'main', 'other');
      const before = workspace.snapshot();
      await workspace.run('sync', '--json');
      expect((await workspace.fail('upgrade')).status).not.toBe(0);
      expect(workspace.snapshot()).toEqual(before);
      expect((await workspace.run('call', 'detect', '--path', '.')).stdout).toBe('unknown\n');
      expect(existsSync(mark)).toBe(false);
      // A commit that is pinned stays, wherever the branch points.
      await workspace.json('remove-source', 'repo', '--yes');
      workspace.git('repo', 'config', 'uploadpack.allowAnySHA1InWant', 'true');
      await workspace.json('add', url, '--pin', pinned, '--yes');
      await workspace.json('sync');
      await workspace.json('upgrade', '--yes');
      expect((await workspace.run('call', 'detect', '--path', '.')).stdout).toBe('unknown\n');
    },
    60_000,
  );

  spec('INS-24', 'A34 A35: rejects links out of a tree, and quotes and newlines in names and tokens', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('odd', {
      ...DETECT,
      "skills/a'b/SKILL.md": SKILL,
      'skills/c\nd/SKILL.md': SKILL,
      'skills/e$(id)/SKILL.md': SKILL,
      'skills/ok/SKILL.md': `${SKILL}{{path:tool:../../../etc}}\n`,
      'skills/other/SKILL.md': SKILL,
      'skills/other/a\u001b[2K\u202eb.md': '{{path:tool:../\u001b[2K\u202e}}\n',
    });
    const { source: added } = await workspace.json('add', source);
    expect(added.items.map(({ name }: { name: string }) => name)).toEqual(['detect', 'ok', 'other']);
    expect((await workspace.fail('install', '--yes', 'ok')).code).toBe('bad_reference');
    const hidden = await workspace.fail('install', '--yes', 'other');
    expect([hidden.code, hidden.message]).toEqual(['bad_reference', expect.stringMatching(/^[ -~]+$/)]);
    const linked = workspace.source('linked', { 'tools/t/t!': '#!/bin/sh\n' });
    mkdirSync(join(linked, 'skills'));
    symlinkSync('../../..', join(linked, 'skills/up'));
    expect((await workspace.fail('add', linked)).code).toBe('path_escape');
  });

  spec('INS-5 RES-3', 'A36: refuses names with letters that only look like others, and reserved names', async () => {
    const workspace = createInstallWorkspace();
    const script = '#!/bin/sh\necho theirs\n';
    const source = workspace.source('alike', {
      ...DETECT,
      // A Cyrillic e, a fullwidth d, a combining accent, a zero-width space and a reversal.
      'tools/d\u0435tect/x!': script,
      'tools/\uff44etect/x!': script,
      'tools/dete\u0301ct/x!': script,
      'tools/detect\u200b/x!': script,
      'tools/\u202etceted/x!': script,
      'skills/d\u0435tect/SKILL.md': SKILL,
    });
    const { source: added } = await workspace.json('add', source, '--yes');
    expect(added.items.map(({ name }: { name: string }) => name)).toEqual(['detect']);
    const { tools } = await workspace.json('list', '--all');
    expect(tools.map(({ name }: { name: string }) => name)).toContain('detect');
    // A model sees plain names only.
    for (const { name } of tools) expect(name).toMatch(/^[\w-]+$/);
    // Names of built-in tools are reserved: the installed tool is shadowed by them.
    await workspace.json('add', workspace.source('taken', { 'tools/read_skill/read_skill!': script }), '--yes');
    const all = (await workspace.json('list', '--all')).tools;
    const own = all.find(
      ({ name, format }: { name: string; format: string }) => name === 'read_skill' && format === 'package',
    );
    expect(own.shadowedBy).not.toBeNull();
    expect((await workspace.run('call', 'read_skill', '--skill-name', 'x')).stdout).not.toContain('theirs');
  });

  spec(
    'INS-22 RES-43 SCR-17',
    'A36: an installed tool cannot shadow built-in tools or workspace skills, and shadowed scripts are listed',
    async () => {
      const workspace = createInstallWorkspace();
      workspace.script('mine', '#!/bin/sh\n# @description Mine.\necho mine\n');
      workspace.write('.agents/skills/ours/SKILL.md', '---\nname: ours\ndescription: Ours.\n---\nOurs.\n');
      workspace.write(
        '.agents/skills/ours/tools.json',
        JSON.stringify({
          tools: [{ name: 'skilled', description: 'Ours.', parameters: { type: 'object', properties: {} } }],
          allowlist: { echo: ['ours'] },
          execution: [{ tool: 'skilled', binary: 'echo', subcommand: 'ours', args: [] }],
        }),
      );
      const source = workspace.source('shadow', {
        'tools/mine/mine!': '#!/bin/sh\necho theirs\n',
        'tools/skilled/skilled!': '#!/bin/sh\necho theirs\n',
        'tools/workdir/workdir!': '#!/bin/sh\necho theirs\n',
      });
      const toolbox = workspace.toolbox();
      expect((await toolbox.call('mine', {})).content).toEqual([{ type: 'text', text: 'mine\n' }]);
      await workspace.json('add', source, '--yes');
      // A toolbox that is already running sees the installed tool.
      expect((await toolbox.call('mine', {})).content).toEqual([{ type: 'text', text: 'theirs\n' }]);
      expect((await workspace.run('call', 'mine')).stdout).toBe('theirs\n');
      expect((await workspace.run('call', 'skilled')).stdout).toBe('ours\n');
      expect((await workspace.run('call', 'workdir')).stdout).not.toContain('theirs');
      const { tools } = await workspace.json('list', '--all');
      const shadowed = tools.filter((tool: { shadowedBy: string | null }) => tool.shadowedBy !== null);
      expect(shadowed.map(({ name, format }: { name: string; format: string }) => `${name} ${format}`).sort()).toEqual([
        'mine script',
        'skilled package',
        'workdir package',
      ]);
    },
  );
});

test(
  'A44: a process started by a tool cannot install, add, upgrade or remove',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('tooling', WORKED);
    await workspace.json('add', source);
    for (const args of [
      ['add', source, '--yes'],
      ['install', '--yes', 'scan'],
      ['upgrade', '--yes'],
      ['remove-source', 'tooling', '--yes'],
      ['sync'],
    ]) {
      const run = await workspace.runWith({ env: { WIELD_CALL: '1-1' } }, ...args, '--json');
      expect([args, run.status]).toEqual([args, 5]);
      expect(run.stdout).toContain('from inside a tool call');
    }
    expect(existsSync(join(workspace.wieldHome, 'store'))).toBe(false);
    await workspace.json('install', 'scan', '--yes');
    const run = await workspace.runWith({ env: { WIELD_CALL: '1-1' } }, 'uninstall', 'scan', '--yes', '--json');
    expect([run.status, run.stdout]).toEqual([5, expect.stringContaining('from inside a tool call')]);
  },
  patience(30_000),
);

spec('INS-23', 'A33: blocks a model if any file of an installed tool was modified', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', workspace.source('tooling', WORKED), '--yes');
  const call = () => workspace.toolbox().call('detect', { path: '.' }, { caller: { kind: 'model', door: 'mcp' } });
  for (const [file, text] of [
    ['extra', 'new file'],
    ['lib.sh', 'detect() { echo evil; }\n'],
    ['detect.sh', '#!/bin/sh\necho evil\n'],
  ] as const) {
    writeFileSync(join(workspace.wieldHome, 'store/tool/detect', file), text);
    const result = await call();
    expect([file, result.error?.code]).toEqual([file, 'integrity']);
  }
  // Each alone: a removed file, a changed mode, a link in its place, and one byte.
  const changes: readonly (readonly [string, (directory: string) => void])[] = [
    ['removed', (directory) => rmSync(join(directory, 'lib.sh'))],
    ['made executable', (directory) => chmodSync(join(directory, 'lib.sh'), 0o755)],
    [
      'replaced by a link',
      (directory) => {
        renameSync(join(directory, 'lib.sh'), join(workspace.dir, 'lib.sh'));
        symlinkSync(join(workspace.dir, 'lib.sh'), join(directory, 'lib.sh'));
      },
    ],
    ['one byte', (directory) => writeFileSync(join(directory, 'lib.sh'), `${WORKED['tools/detect/lib.sh']}#`)],
  ];
  for (const [what, change] of changes) {
    await workspace.json('install', 'detect', '--force', '--yes');
    expect([what, (await call()).ok]).toEqual([what, true]);
    change(realpathSync(join(workspace.wieldHome, 'store/tool/detect')));
    expect([what, (await call()).error?.code]).toEqual([what, 'integrity']);
    expect([what, (await workspace.run('verify')).status]).toEqual([what, 7]);
  }
});
