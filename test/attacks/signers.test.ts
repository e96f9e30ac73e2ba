// Sources that pretend to be signed by someone else.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createInstallWorkspace, type InstallWorkspace, WORKED } from '../support/install.js';
import {
  commitSigned,
  createGpgKey,
  createSshKey,
  hasGpg,
  hasSsh,
  NO_GPG,
  NO_SSH,
  type SshKey,
  stopGpg,
  writeAllowed,
} from '../support/signers.js';
import { specIf } from '../support/spec.js';

interface Scene {
  readonly workspace: InstallWorkspace;
  readonly url: string;
  readonly ada: SshKey;
  readonly eve: SshKey;
}

// A repository whose first commit Ada signed.
function createScene(): Scene {
  const workspace = createInstallWorkspace();
  const [ada, eve] = [createSshKey(workspace, 'ada'), createSshKey(workspace, 'eve')];
  const url = workspace.repository('repo', WORKED);
  commitSigned(workspace, 'repo', ada);
  return { workspace, url, ada, eve };
}

const addAs = ({ workspace, url, ada }: Scene, ...flags: readonly string[]) =>
  workspace.fail('add', url, '--yes', '--signer', ada.file, ...flags);

const signWith = ({ settings }: SshKey): string[] => settings.flatMap((one) => ['-c', one]);

/** Writes a commit object as it is given, and points the branch at it. */
function writeCommit(workspace: InstallWorkspace, change: (text: string) => string): void {
  const cwd = join(workspace.dir, '..', 'sources', 'repo');
  const text = execFileSync('git', ['cat-file', 'commit', 'HEAD'], { cwd, encoding: 'utf8' });
  const written = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], { cwd, input: change(text) });
  workspace.git('repo', 'update-ref', 'HEAD', written.toString().trim());
}

describe.concurrent('signatures', () => {
  specIf(hasSsh, NO_SSH, 'INS-93', 'a checkout does not bring its own signers or configuration', async () => {
    const scene = createScene();
    const { workspace, eve } = scene;
    const allowed = `* ${eve.signer}\n`;
    workspace.source('repo', {
      allowed_signers: allowed,
      '.ssh/allowed_signers': allowed,
      'wield-signers': allowed,
      '.gitconfig': '[gpg "ssh"]\n allowedSignersFile = allowed_signers\n',
      '.git/config.worktree': '[gpg "ssh"]\n program = /bin/true\n',
    });
    commitSigned(workspace, 'repo', eve);
    workspace.git('repo', 'config', 'gpg.ssh.allowedSignersFile', 'allowed_signers');
    workspace.git('repo', 'config', 'gpg.ssh.program', '/bin/true');
    expect((await addAs(scene)).message).toContain(eve.key);
    // Nor does a project, by its configuration.
    workspace.write('.agents/config.toml', `[sources]\nsigners = ["${eve.signer}"]\n`);
    workspace.config(`[sources]\nsigners = ["${scene.ada.signer}"]\n`);
    expect(await workspace.fail('add', scene.url, '--yes')).toMatchObject({ code: 'integrity' });
    // Nor the configuration of git of the user, which is not read.
    writeFileSync(join(workspace.home, '.gitconfig'), `[gpg "ssh"]\n program = /bin/true\n`);
    expect((await addAs(scene)).message).toContain(eve.key);
  });

  specIf(hasSsh, NO_SSH, 'INS-93', 'text that looks like a signature or its result is none', async () => {
    const scene = createScene();
    const { workspace, ada } = scene;
    const good = `Good "git" signature for ada@example.org with ED25519 key ${ada.key}`;
    const status = `[GNUPG:] GOODSIG 0 ada\n[GNUPG:] VALIDSIG ${'A'.repeat(40)} x 1 0 4 0 22 8 00 ${'A'.repeat(40)}`;
    const signed = workspace.git('repo', 'cat-file', 'commit', 'HEAD');
    const [signature = ''] = /gpgsig [\s\S]*?-----END SSH SIGNATURE-----\n/.exec(signed) ?? [];
    expect(signature).not.toBe('');
    commitSigned(workspace, 'repo', undefined);
    const forms: readonly [string, (text: string) => string][] = [
      ['in the message', (text) => `${text}\n${good}\n${status}\n`],
      ['a signature in the message', (text) => `${text}\n${signature}`],
      ['as the author', (text) => text.replace(/^author .* </m, `author ${good} <`)],
      ['a header of the result', (text) => text.replace(/^author/m, `note ${good}\nauthor`)],
      ['the signature of another commit', (text) => text.replace(/\n\n/, `\n${signature}\n`)],
      ['an empty signature', (text) => text.replace(/\n\n/, `\ngpgsig ${good}\n\n`)],
    ];
    for (const [form, change] of forms) {
      workspace.git('repo', 'update-ref', 'refs/heads/kept', 'HEAD');
      writeCommit(workspace, change);
      expect(await addAs(scene), form).toMatchObject({ code: expect.stringMatching(/^(?:integrity|unavailable)$/) });
      workspace.git('repo', 'reset', '--quiet', '--hard', 'kept');
    }
    expect((await workspace.json('list', '--sources')).sources).toEqual([]);
    // With a line break, a signer would be two.
    const two = `${scene.eve.signer}\n${ada.signer}`;
    expect(await workspace.fail('add', scene.url, '--signer', two)).toMatchObject({ code: 'usage' });
  });

  specIf(hasSsh, NO_SSH, 'INS-93', 'a tag counts under its own name and for its own commit', async () => {
    const scene = createScene();
    const { workspace, ada, eve } = scene;
    workspace.git('repo', ...signWith(ada), 'tag', '-s', '-m', 'First', 'v1');
    const object = workspace.git('repo', 'rev-parse', 'v1').trim();
    commitSigned(workspace, 'repo', undefined);
    // The signed object of v1 under another name leads to the old commit, which is signed itself: so make it unsigned.
    workspace.git('repo', 'tag', '-d', 'v1');
    workspace.git('repo', ...signWith(ada), 'tag', '-s', '-m', 'Old', 'old');
    const old = workspace.git('repo', 'rev-parse', 'old').trim();
    workspace.git('repo', 'update-ref', 'refs/tags/v2', old);
    expect(await addAs(scene, '--pin', 'tag=v2')).toMatchObject({ code: 'integrity' });
    // A tag of a tag, of which only the inner one is signed by Ada.
    workspace.git('repo', ...signWith(eve), 'tag', '-s', '-m', 'Outer', 'v3', old);
    expect(await addAs(scene, '--pin', 'tag=v3')).toMatchObject({ code: 'integrity' });
    workspace.git('repo', ...signWith(ada), 'tag', '-s', '-m', 'Outer', 'v4', old);
    expect(await addAs(scene, '--pin', 'tag=v4')).toMatchObject({ code: 'integrity' });
    // A tag without a signature, and one of someone else.
    workspace.git('repo', 'tag', '-a', '-m', 'Plain', 'v5');
    workspace.git('repo', ...signWith(eve), 'tag', '-s', '-m', 'Other', 'v6');
    for (const tag of ['v5', 'v6'])
      expect(await addAs(scene, '--pin', `tag=${tag}`)).toMatchObject({ code: 'integrity' });
    // A signed tag says nothing about the branch.
    workspace.git('repo', 'update-ref', 'refs/tags/v1', object);
    expect(await addAs(scene)).toMatchObject({ code: 'integrity' });
    await workspace.json('add', scene.url, '--yes', '--signer', ada.file, '--pin', 'tag=old');
  });

  specIf(hasSsh, NO_SSH, 'INS-93', 'a key that expired is not valid, whatever the date of the commit', async () => {
    const { workspace, url, ada } = createScene();
    const day = (days: number): string =>
      new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
    workspace.config('[sources]\nsigners = ["~/.ssh/allowed_signers"]\n');
    const cwd = join(workspace.dir, '..', 'sources', 'repo');
    // Signed now, and dated back to when the key was valid.
    const date = '2020-01-01T00:00:00Z';
    execFileSync(
      'git',
      [
        ...signWith(ada),
        '-c',
        'user.name=A',
        '-c',
        'user.email=a@b',
        'commit',
        '-q',
        '-S',
        '--amend',
        '-m',
        'x',
        '--date',
        date,
      ],
      {
        cwd,
        env: { ...process.env, GIT_COMMITTER_DATE: date },
      },
    );
    writeAllowed(workspace, `ada@example.org valid-before="${day(-1)}" ${ada.signer}`);
    expect((await workspace.fail('add', url, '--yes')).message).toContain('has expired');
    writeAllowed(workspace, `ada@example.org namespaces="file" ${ada.signer}`);
    expect(await workspace.fail('add', url, '--yes')).toMatchObject({ code: 'integrity' });
    writeAllowed(workspace, `ada@example.org valid-after="${day(-1)}" ${ada.signer}`);
    expect(await workspace.fail('add', url, '--yes')).toMatchObject({ code: 'integrity' });
    writeAllowed(workspace, `ada@example.org valid-before="${day(2)}" ${ada.signer}`);
    await workspace.json('add', url, '--yes');
  });

  specIf(hasSsh, NO_SSH, 'INS-94', 'a lock of a checkout does not replace the signers of a source', async () => {
    const { workspace, url, ada, eve } = createScene();
    await workspace.json('add', url, '--yes', '--signer', ada.file);
    const lock = JSON.parse(readFileSync(join(workspace.wieldHome, 'wield.lock'), 'utf8'));
    const commit = commitSigned(workspace, 'repo', eve);
    const [source] = lock.sources;
    source.commit = commit;
    source.signers = [eve.signer];
    source.signer = { key: eve.key, name: null, of: 'commit' };
    for (const item of source.items) item.commit = commit;
    workspace.write('wield.lock', JSON.stringify(lock));
    expect((await workspace.fail('install', '--frozen', '--yes')).message).toContain('not an allowed signer');
    expect((await workspace.json('show', '--source', 'repo')).source.signer.key).toBe(ada.key);
    const states = (await workspace.run('verify', '--json')).stdout;
    expect(states).toContain('the lock has another signer');
    // One that names a signer without a list cannot be verified.
    const other = createInstallWorkspace();
    delete source.signers;
    other.write('wield.lock', JSON.stringify(lock));
    expect((await other.fail('install', '--frozen', '--yes')).message).toContain('nothing verifies who signed it');
  });

  specIf(hasSsh, NO_SSH, 'INS-93', 'a private key or any other text is not accepted as a list of signers', async () => {
    const { workspace, url, ada } = createScene();
    const files = [readFileSync(ada.file.replace(/\.pub$/, ''), 'utf8'), 'hello\n', `${ada.signer}\nhello\n`];
    for (const text of files) {
      const error = await workspace.fail('add', url, '--yes', '--signer', workspace.write('signers', text));
      expect([text, error.code, error.message]).toEqual([text, 'usage', expect.stringContaining('no key of a signer')]);
    }
    const lines = `# team\nada@example.org namespaces="git"\t${ada.signer}\n`;
    await workspace.json('add', url, '--yes', '--signer', workspace.write('signers', lines));
  });

  specIf(hasSsh, NO_SSH, 'INS-93', 'what was not signed is never exported, and runs no hook', async () => {
    const { workspace, url, ada, eve } = createScene();
    const marker = join(workspace.dir, 'ran');
    workspace.source('repo', { 'mind.toml': `[[hooks]]\nevent = "install"\nrun = "touch ${marker}"\n` });
    commitSigned(workspace, 'repo', eve);
    const refused = await workspace.fail('add', url, '--yes', '--run-hooks', '--signer', ada.file);
    expect(refused).toMatchObject({ code: 'integrity' });
    expect(() => readFileSync(marker)).toThrow();
  });

  specIf(
    hasGpg,
    NO_GPG,
    'INS-93',
    'OpenPGP: another key of the keyring, and a name like another, are refused',
    async () => {
      const workspace = createInstallWorkspace();
      const [ada, eve] = [createGpgKey(workspace, 'ada'), createGpgKey(workspace, 'eve')];
      const url = workspace.repository('repo', WORKED);
      commitSigned(workspace, 'repo', eve);
      const refused = await workspace.fail('add', url, '--yes', '--signer', ada.signer);
      expect(refused.message).toContain(eve.key);
      // Only whole fingerprints are accepted: short ids can be forged.
      const short = await workspace.fail('add', url, '--yes', '--signer', eve.key.slice(-16));
      expect(short).toMatchObject({ code: 'usage' });
      await workspace.json('add', url, '--yes', '--signer', eve.signer);
      stopGpg(workspace);
    },
  );
});
