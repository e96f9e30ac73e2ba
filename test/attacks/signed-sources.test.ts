// Sources whose commits or tags must be signed: flags, configuration, the record, the lock, and changes of the signer.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import { createIo, runCommand } from '../support/cli.js';
import { createInstallWorkspace, type InstallWorkspace, WORKED } from '../support/install.js';
import {
  commitSigned,
  createGpgKey,
  createSshKey,
  hasGpg,
  hasSsh,
  NO_GPG,
  NO_SSH,
  stopGpg,
  writeAllowed,
} from '../support/signers.js';
import { specIf } from '../support/spec.js';

// A command at a terminal in this process, with what is typed.
async function atTerminal(workspace: InstallWorkspace, typed: string, ...args: readonly string[]) {
  const { io, stdout, stderr } = createIo(workspace);
  const stdin = { ...io.stdin, isTerminal: true, stream: () => Readable.from([Buffer.from(typed)]) };
  const shown = { ...io.stderr, isTerminal: true };
  const status = await runCommand(args, { ...io, stdin, stderr: shown } as typeof io);
  return { status, stdout: stdout(), stderr: stderr() };
}

const lockOf = ({ wieldHome }: InstallWorkspace) =>
  JSON.parse(readFileSync(join(wieldHome, 'wield.lock'), 'utf8')).sources[0];

describe.concurrent('signed sources', () => {
  specIf(hasSsh, NO_SSH, 'INS-93 INS-94 INS-95', 'accepts only the signers that --signer names', async () => {
    const workspace = createInstallWorkspace();
    const [ada, eve] = [createSshKey(workspace, 'ada'), createSshKey(workspace, 'eve')];
    const url = workspace.repository('repo', WORKED);
    expect((await workspace.fail('add', url, '--yes', '--signer', ada.signer)).message).toContain('is not signed');
    const commit = commitSigned(workspace, 'repo', ada);
    const refused = await workspace.fail('add', url, '--yes', '--signer', eve.file);
    expect(refused).toMatchObject({ code: 'integrity', status: 7 });
    expect(refused.message).toContain(ada.key);
    expect((await workspace.json('list', '--sources')).sources).toEqual([]);
    const added = await workspace.run('add', url, '--yes', '--signer', ada.file);
    expect(added.stdout).toContain(`signed   ada@example.org, ${ada.key} (commit)`);
    const signer = { key: ada.key, name: 'ada@example.org', of: 'commit' };
    expect(lockOf(workspace)).toMatchObject({ signer, signers: [ada.signer] });
    const shown = await workspace.json('show', 'detect');
    expect(shown.provenance).toMatchObject({ commit, signer });
    expect(Date.parse(shown.provenance.time)).toBeGreaterThan(Date.now() - 86_400_000);
    expect((await workspace.run('show', 'detect')).stdout).toMatch(
      new RegExp(`commit +${commit.slice(0, 12)} of \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d, signed by ada@example.org`),
    );
    expect((await workspace.json('show', '--source', 'repo')).source).toMatchObject({ signer, commit });
    // An upgrade needs the same signer, without being asked again.
    commitSigned(workspace, 'repo', ada);
    expect((await workspace.json('upgrade', '--yes')).items).toHaveLength(1);
    const stolen = commitSigned(workspace, 'repo', eve);
    const attacked = await workspace.fail('upgrade', '--yes', '--accept');
    expect(attacked).toMatchObject({ code: 'integrity' });
    expect(lockOf(workspace).commit).not.toBe(stolen);
  });

  specIf(hasSsh, NO_SSH, 'INS-93 INS-94', 'needs a person for another of the listed signers', async () => {
    const workspace = createInstallWorkspace();
    const [ada, bob] = [createSshKey(workspace, 'ada'), createSshKey(workspace, 'bob')];
    const file = writeAllowed(workspace, '# team', `ada@example.org ${ada.signer}`, `bob@example.org ${bob.signer}`);
    workspace.config('[sources]\nsigners = ["~/.ssh/allowed_signers"]\n');
    const url = workspace.repository('repo', WORKED);
    expect((await workspace.fail('add', url, '--yes')).message).toContain('is not signed');
    commitSigned(workspace, 'repo', ada);
    await workspace.json('add', url, '--yes');
    const second = commitSigned(workspace, 'repo', bob);
    const refused = await workspace.fail('upgrade', '--yes');
    expect(refused.message).toContain(`was signed by ada@example.org, ${ada.key} (commit), and is now signed by bob`);
    expect(refused.hint).toContain('--accept');
    expect(await workspace.fail('list', '--outdated')).toMatchObject({ code: 'integrity' });
    const declined = await atTerminal(workspace, 'n\n', 'upgrade', '--yes');
    expect(declined.stderr).toContain('Accept that? [y/N]');
    expect(declined.status).toBe(7);
    expect((await workspace.json('show', '--source', 'repo')).source.signer.key).toBe(ada.key);
    const accepted = await atTerminal(workspace, 'y\n', 'upgrade', '--yes');
    expect(accepted.status).toBe(0);
    expect(lockOf(workspace)).toMatchObject({ commit: second, signer: { key: bob.key } });
    // Without the list nothing can be verified any more.
    workspace.config('');
    commitSigned(workspace, 'repo', bob);
    const none = await workspace.fail('upgrade', '--yes');
    expect(none.message).toContain('nothing verifies who signed it now');
    expect(none.hint).toContain('[sources] signers');
    await workspace.json('upgrade', '--yes', '--accept');
    expect(lockOf(workspace).signer).toBeUndefined();
    // The file must exist: without it, nobody is allowed.
    workspace.config(`[sources]\nsigners = ["${file}x"]\n`);
    expect((await workspace.fail('add', url, '--yes')).message).toContain('no key of a signer');
  });

  specIf(hasSsh, NO_SSH, 'INS-93', 'takes the signature of the tag that the pin names', async () => {
    const workspace = createInstallWorkspace();
    const ada = createSshKey(workspace, 'ada');
    const url = workspace.repository('repo', WORKED);
    const sign = ada.settings.flatMap((one) => ['-c', one]);
    workspace.git('repo', ...sign, 'tag', '-s', '-m', 'First', 'v1');
    const flags = ['--yes', '--signer', ada.file];
    expect((await workspace.fail('add', url, ...flags)).code).toBe('integrity');
    await workspace.json('add', url, ...flags, '--pin', 'tag=v1');
    expect(lockOf(workspace).signer).toEqual({ key: ada.key, name: 'ada@example.org', of: 'tag' });
    // Another machine verifies the tag too, although the lock pins the commit.
    const other = createInstallWorkspace();
    writeFileSync(join(other.dir, 'wield.lock'), readFileSync(join(workspace.wieldHome, 'wield.lock')));
    await other.json('install', '--frozen', '--yes');
    expect((await other.json('show', '--source', 'repo')).source.signer).toMatchObject({ key: ada.key, of: 'tag' });
    // The tag that was fetched is verified again.
    await other.json('install', 'scan', '--force', '--yes');
  });

  specIf(hasSsh, NO_SSH, 'INS-93', 'installs nothing of a source that was added before a list', async () => {
    const workspace = createInstallWorkspace();
    const ada = createSshKey(workspace, 'ada');
    const hook = { 'tools/detect/TOOL.md': '---\ndescription: Detect.\nbin: detect.sh\ninstall: echo hook\n---\n' };
    const url = workspace.repository('repo', { ...WORKED, ...hook });
    await workspace.json('add', url, '--yes', '--register-only');
    workspace.config(`[sources]\nsigners = ["${ada.file}"]\n`);
    for (const args of [['--yes'], ['--yes', '--force'], ['--dry-run'], ['--yes', '--run-hooks']])
      expect(await workspace.fail('install', 'detect', ...args)).toMatchObject({
        code: 'integrity',
        message: expect.stringMatching(/^the commit [0-9a-f]{12} of \S+ is not signed$/),
      });
    const asked = await atTerminal(workspace, 'y\n', 'install', 'detect');
    expect([asked.status, asked.stderr.includes('echo hook')]).toEqual([7, false]);
    expect((await workspace.fail('upgrade', '--offline', '--yes', 'detect')).code).toBe('not_found');
    // A commit or tag that is signed can be installed once it is fetched.
    commitSigned(workspace, 'repo', ada);
    await workspace.json('upgrade', '--fetch-only', 'repo');
    expect((await workspace.json('install', 'scan', '--yes', '--run-hooks')).items).toHaveLength(2);
    const eve = createSshKey(workspace, 'eve');
    workspace.config(`[sources]\nsigners = ["${eve.file}"]\n`);
    const forced = await workspace.fail('install', 'scan', '--yes', '--force', '--run-hooks');
    expect(forced.message).toContain(`is signed by ${ada.key}, which is not an allowed signer`);
  });

  specIf(hasGpg, NO_GPG, 'INS-93', 'verifies OpenPGP signatures by fingerprint, and refuses expired keys', async () => {
    const workspace = createInstallWorkspace();
    const ada = createGpgKey(workspace, 'ada');
    const old = createGpgKey(workspace, 'old', { old: true });
    const url = workspace.repository('repo', WORKED);
    commitSigned(workspace, 'repo', old);
    commitSigned(workspace, 'repo', ada);
    const spaced = ada.key.toLowerCase().replace(/.{4}/g, '$& ');
    await workspace.json('add', url, '--yes', '--signer', spaced);
    expect(lockOf(workspace)).toMatchObject({
      signers: [ada.key],
      signer: { key: ada.key, name: 'ada <ada@example.org>' },
    });
    workspace.git('repo', 'reset', '--quiet', '--hard', 'HEAD~1');
    const expired = await workspace.fail('add', url, '--yes', '--signer', old.signer);
    expect(expired.message).toContain('its key has expired');
    stopGpg(workspace);
  });
});
