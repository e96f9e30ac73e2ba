// Known secrets, which no sandboxed process can see, and files that it cannot change, unless the configuration names them.

import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { createDirectoryCache } from './directory-cache.js';
import { findDotenv } from './dotenv.js';

/** In the home directory. */
const IN_HOME = [
  '.ssh',
  '.aws',
  '.azure',
  '.gnupg',
  '.kube',
  '.docker',
  '.config/gcloud',
  '.config/gh',
  '.config/hub',
  '.config/git/credentials',
  '.git-credentials',
  '.netrc',
  '.npmrc',
  '.yarnrc.yml',
  '.pypirc',
  '.gem/credentials',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.terraform.d',
  '.vault-token',
  '.pgpass',
  '.my.cnf',
  '.password-store',
  // Agents with keys, and virtual machines that run containers as root.
  '.1password',
  '.bitwarden-ssh-agent.sock',
  '.colima',
  '.lima',
  '.orbstack',
  '.rd',
  '.local/share/keyrings',
  '.local/share/kwalletd',
  '.claude.json',
  '.claude/.credentials.json',
  '.codex/auth.json',
  '.gemini/oauth_creds.json',
  '.mozilla',
  '.thunderbird',
  '.config/google-chrome',
  '.config/chromium',
  '.config/BraveSoftware',
  '.config/microsoft-edge',
  '.config/opera',
  '.config/vivaldi',
  'snap/firefox',
  'snap/chromium',
  '.env',
  '.bash_history',
  '.zsh_history',
  'Library/Keychains',
  'Library/Cookies',
  'Library/Safari',
  'Library/Application Support/Google/Chrome',
  'Library/Application Support/Firefox',
];
const OF_SYSTEM = [
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/ssh/ssh_host_ecdsa_key',
  '/etc/ssh/ssh_host_ed25519_key',
  '/etc/ssh/ssh_host_rsa_key',
  // Sockets outside of /run whose users are as good as root.
  '/var/lib/incus/unix.socket',
  '/var/lib/lxd/unix.socket',
  '/var/snap/lxd/common/lxd/unix.socket',
];

// The git directory as a whole: `commondir`, `config.worktree` and `modules` lead to other hooks and configuration.
const GUARDED = ['.agents', '.mcp.json', '.git'];
const OF_PROGRAMS = ['skills', 'tools', '.claude', '.codex', '.cursor', '.gemini', '.vscode', '.envrc'];

/** Returns the existing files of a workdir that make wield and other programs run code later. */
export function findGuarded(workdir: string, places: readonly string[] = []): readonly string[] {
  const known = [...GUARDED, ...OF_PROGRAMS].map((name) => join(workdir, name));
  const named = places.filter((place) => !place.startsWith('~')).map((place) => resolve(workdir, place));
  const others = named.filter((path) => path !== workdir && isWithin(workdir, path));
  return realPaths([...known, ...others.filter((path) => !known.some((one) => isWithin(one, path)))]);
}

export interface SecretPlaces {
  readonly home: string | undefined;
  readonly wieldHome: string;
  readonly workdir: string;
  readonly now: number;
}

/** Returns the canonical paths of known secrets that exist. */
export function findSecrets({ home, wieldHome, workdir, now }: SecretPlaces): readonly string[] {
  const inHome = home === undefined ? [] : listHome(home, now);
  const paths = realPaths([wieldHome, ...(inHome ?? []), ...OF_SYSTEM]);
  return [...new Set([...paths, ...findDotenv(realPath(workdir) ?? workdir, now)])];
}

// What may exist in a home, by the first part of each path. The case of names may not count.
const listHome = createDirectoryCache((home) => {
  const entries = readNames(home);
  const exists = (path: string): boolean => entries?.has(path.split('/', 1)[0]!.toLowerCase()) !== false;
  return IN_HOME.filter(exists).map((path) => join(home, path));
});

// Undefined: it cannot be listed, but may be entered.
function readNames(directory: string): ReadonlySet<string> | undefined {
  try {
    return new Set(readdirSync(directory).map((name) => name.toLowerCase()));
  } catch {
    return undefined;
  }
}

// Most do not exist, and an exception takes four times as long as a stat.
function realPaths(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (statOrNothing(path) === undefined ? [] : (realPath(path) ?? [])));
}
