// Keys of signers, and commits and tags that they sign, with real ssh-keygen and gpg.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { InstallWorkspace } from './install.js';
import { hasProgram, notInstalled } from './machine.js';

export const hasSsh = hasProgram('ssh-keygen');
export const NO_SSH = notInstalled('ssh-keygen');
export const hasGpg = hasProgram('gpg');
export const NO_GPG = notInstalled('gpg');

/** A key, as settings of git that sign with it. */
export interface SigningKey {
  readonly settings: readonly string[];
  /** What `--signer` takes. */
  readonly signer: string;
  /** What is recorded. */
  readonly key: string;
}

export interface SshKey extends SigningKey {
  /** The file of the public key. */
  readonly file: string;
}

export function createSshKey(workspace: InstallWorkspace, name: string): SshKey {
  const file = join(dirname(workspace.dir), `key-${name}`);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', `${name}@example.org`, '-f', file]);
  const [, key = ''] = execFileSync('ssh-keygen', ['-lf', `${file}.pub`], { encoding: 'utf8' }).split(' ');
  const signer = readFileSync(`${file}.pub`, 'utf8').trim();
  return { settings: ['gpg.format=ssh', `user.signingKey=${file}.pub`], signer, key, file: `${file}.pub` };
}

/** Creates a key in the keyring of the workspace's home; an old one expired, and signs as if it had not. */
export function createGpgKey(workspace: InstallWorkspace, name: string, { old = false } = {}): SigningKey {
  const keyring = join(workspace.home, '.gnupg');
  mkdirSync(keyring, { recursive: true, mode: 0o700 });
  const time = old ? ['--faked-system-time', '20200101T000000!'] : [];
  const gpg = (...args: readonly string[]): string =>
    execFileSync('gpg', ['--batch', '--quiet', '--homedir', keyring, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const user = `${name} <${name}@example.org>`;
  gpg(...time, '--passphrase', '', '--quick-gen-key', user, 'ed25519', 'sign', old ? '1d' : 'never');
  const [, key = ''] = /^fpr:+([0-9A-F]+):/m.exec(gpg('--list-keys', '--with-colons', `=${user}`)) ?? [];
  const program = join(dirname(workspace.dir), `gpg-${name}`);
  writeFileSync(program, `#!/bin/sh\nexec gpg ${time.map((word) => `'${word}'`).join(' ')} "$@"\n`, { mode: 0o755 });
  return {
    settings: ['gpg.format=openpgp', `user.signingKey=${key}`, `gpg.program=${program}`],
    signer: key,
    key,
  };
}

export function stopGpg({ home }: InstallWorkspace): void {
  execFileSync('gpgconf', ['--homedir', join(home, '.gnupg'), '--kill', 'all'], { stdio: 'ignore' });
}

/** Changes a file of a repository, and commits it with a signature of a key; without one if there is none. */
export function commitSigned(
  workspace: InstallWorkspace,
  name: string,
  key: SigningKey | undefined,
  { content = String(Math.random()), date }: { readonly content?: string; readonly date?: string } = {},
): string {
  workspace.source(name, { 'skills/scan/notes.md': `${content}\n` });
  workspace.git(name, 'add', '--all');
  const settings = (key?.settings ?? []).flatMap((one) => ['-c', one]);
  const committed = date === undefined ? [] : ['--date', date];
  workspace.git(
    name,
    ...settings,
    'commit',
    '--quiet',
    '-m',
    'Change',
    ...committed,
    ...(key === undefined ? [] : ['-S']),
  );
  return workspace.git(name, 'rev-parse', 'HEAD').trim();
}

/** Writes a file of allowed signers, and returns its path. */
export function writeAllowed({ home }: InstallWorkspace, ...lines: readonly string[]): string {
  const file = join(home, '.ssh', 'allowed_signers');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}
