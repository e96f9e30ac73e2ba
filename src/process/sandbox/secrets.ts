// Known secrets, which no sandboxed process can see, and files that it cannot change, unless the configuration names them.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { realPath } from '../../files/within.js';

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
  '.bash_history',
  '.zsh_history',
  'Library/Keychains',
  'Library/Cookies',
  'Library/Safari',
  'Library/Application Support/Google/Chrome',
  'Library/Application Support/Firefox',
];
const OF_SYSTEM = ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/sudoers.d', '/etc/ssh/ssh_host_ed25519_key'];

const DOTENV = /^\.env(?:\..+)?$/;
// Templates without values.
const DOTENV_EXAMPLE = /^\.env\.(?:example|sample|template|dist)$/;
const SKIPPED = new Set(['node_modules', '.git', 'vendor', 'target', 'dist', 'build']);
// How far `.env` files are looked for in the workdir.
const MAX_DEPTH = 3;
const MAX_DIRECTORIES = 200;

// The git directory as a whole: `commondir`, `config.worktree` and `modules` lead to other hooks and configuration.
const GUARDED = ['.agents', '.mcp.json', '.git'];

/** Returns the existing files of a workdir that make other programs run code later. */
export function findGuarded(workdir: string): readonly string[] {
  return GUARDED.flatMap((name) => realPath(join(workdir, name)) ?? []);
}

export interface SecretPlaces {
  readonly home: string | undefined;
  readonly wieldHome: string;
  readonly workdir: string;
}

/** Returns the canonical paths of known secrets that exist. */
export function findSecrets({ home, wieldHome, workdir }: SecretPlaces): readonly string[] {
  const inHome = home === undefined ? [] : [...IN_HOME, '.env'].map((name) => join(home, name));
  const paths = [wieldHome, ...inHome, ...OF_SYSTEM].flatMap((path) => realPath(path) ?? []);
  return [...new Set([...paths, ...findDotenv(realPath(workdir) ?? workdir)])];
}

function findDotenv(root: string): string[] {
  const found: string[] = [];
  let directories = [root];
  let visited = 0;
  for (let depth = 0; depth < MAX_DEPTH && directories.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of directories) {
      if (++visited > MAX_DIRECTORIES) return found;
      for (const entry of listEntries(directory)) {
        const path = join(directory, entry.name);
        if (DOTENV.test(entry.name) && !DOTENV_EXAMPLE.test(entry.name)) found.push(realPath(path) ?? path);
        else if (entry.isDirectory() && !SKIPPED.has(entry.name)) next.push(path);
      }
    }
    directories = next;
  }
  return found;
}

function listEntries(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
