// Known secrets, which no sandboxed process can see, and files that it cannot change, unless the configuration names them.

import { readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { createDirectoryCache } from './directory-cache.js';
import { findDotenv } from './dotenv.js';

/** In the home directory. Those of a directory are hidden together, since hiding a file takes ten times as long. */
const IN_HOME = [
  // Keys and passwords
  '.ssh',
  '.gnupg',
  '.pki',
  '.local/share/pki',
  '.cert',
  '.caff',
  '.minisign',
  '.Private',
  '.ecryptfs',
  '.vaults',
  '.local/share/plasma-vault',
  '.config/keybase',
  '.davfs2',
  '.smbcredentials',
  '.netrc',
  '.authinfo',
  '.authinfo.gpg',
  '.git-credentials',
  '.config/git/credentials',
  '.git-credential-cache',
  '.cache/git/credential',
  '.password-store',
  '.local/share/gopass',
  '.local/share/keyrings',
  '.local/share/kwalletd',
  '.gnome2/keyrings',
  '.kde/share/apps/kwallet',
  '.config/sops',
  '.config/age',
  '.config/keepassxc',
  '.config/Bitwarden',
  '.config/Bitwarden CLI',
  '.config/1Password',
  '.config/op',
  '.electrum',
  '.bitcoin',
  '.ethereum',
  '.config/solana',
  // Clouds and services
  '.aws',
  '.azure',
  '.boto',
  '.s3cfg',
  '.oci',
  '.aliyun',
  '.bluemix',
  '.fly',
  '.pulumi',
  '.railway',
  '.databrickscfg',
  '.snowflake',
  '.snowsql',
  '.kaggle',
  '.huggingface',
  '.cache/huggingface/token',
  '.vault-token',
  '.terraform.d',
  '.terraformrc',
  '.config/gcloud',
  '.config/gh',
  '.config/glab-cli',
  '.config/hub',
  '.config/doctl',
  '.config/hcloud',
  '.config/linode-cli',
  '.config/scw',
  '.config/netlify',
  '.config/.wrangler',
  '.config/stripe',
  '.config/configstore',
  '.config/rclone',
  '.local/share/com.vercel.cli',
  '.local/share/heroku',
  // Packages
  '.npmrc',
  '.yarnrc.yml',
  '.pypirc',
  '.gem/credentials',
  '.local/share/gem/credentials',
  '.bundle/config',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.m2/settings.xml',
  '.m2/settings-security.xml',
  '.gradle/gradle.properties',
  '.composer/auth.json',
  '.config/composer/auth.json',
  '.config/NuGet',
  '.nuget/NuGet',
  // Databases
  '.pgpass',
  '.my.cnf',
  '.mylogin.cnf',
  '.config/redis',
  // Containers, and virtual machines that run them as root
  '.kube',
  '.docker',
  '.config/containers/auth.json',
  '.config/helm',
  '.colima',
  '.lima',
  '.orbstack',
  '.rd',
  // Agents with keys
  '.1password',
  '.bitwarden-ssh-agent.sock',
  // Models, and servers with tokens
  '.claude.json',
  '.claude/.credentials.json',
  '.codex/auth.json',
  '.gemini/oauth_creds.json',
  '.gemini/.env',
  '.cursor/mcp.json',
  '.codeium',
  '.aider.conf.yml',
  '.config/Claude',
  '.config/github-copilot',
  '.config/goose',
  '.config/io.datasette.llm',
  '.config/Code/User/globalStorage',
  '.config/Cursor/User/globalStorage',
  '.local/share/opencode/auth.json',
  // Browsers, mail and messages
  '.mozilla',
  '.config/mozilla',
  '.librewolf',
  '.waterfox',
  '.zen',
  '.thunderbird',
  '.config/google-chrome',
  '.config/google-chrome-beta',
  '.config/google-chrome-unstable',
  '.config/chromium',
  '.config/BraveSoftware',
  '.config/microsoft-edge',
  '.config/opera',
  '.config/vivaldi',
  '.config/Signal',
  '.config/Slack',
  '.config/discord',
  '.local/share/TelegramDesktop',
  '.local/share/evolution',
  '.local/share/epiphany',
  '.local/share/qutebrowser',
  'snap/firefox',
  'snap/chromium',
  'snap/brave',
  'snap/thunderbird',
  '.var/app/org.mozilla.firefox',
  '.var/app/org.mozilla.Thunderbird',
  '.var/app/org.chromium.Chromium',
  '.var/app/com.google.Chrome',
  '.var/app/com.brave.Browser',
  '.var/app/com.microsoft.Edge',
  '.msmtprc',
  '.mutt',
  '.muttrc',
  '.fetchmailrc',
  // Displays and remote desktops
  '.Xauthority',
  '.vnc',
  '.local/share/remmina',
  '.config/filezilla',
  // What was typed
  '.env',
  '.bash_history',
  '.zsh_history',
  '.zhistory',
  '.histfile',
  '.python_history',
  '.node_repl_history',
  '.psql_history',
  '.mysql_history',
  '.rediscli_history',
  '.local/share/fish/fish_history',
  '.local/share/atuin',
  // macOS
  'Library/Keychains',
  'Library/Cookies',
  'Library/Safari',
  'Library/Mail',
  'Library/Messages',
  'Library/HTTPStorages',
  'Library/Group Containers',
  'Library/Containers/com.apple.Safari',
  'Library/Application Support/1Password',
  'Library/Application Support/Arc',
  'Library/Application Support/Bitwarden',
  'Library/Application Support/BraveSoftware',
  'Library/Application Support/Chromium',
  'Library/Application Support/Claude',
  'Library/Application Support/Code/User/globalStorage',
  'Library/Application Support/Cursor/User/globalStorage',
  'Library/Application Support/Firefox',
  'Library/Application Support/Google/Chrome',
  'Library/Application Support/Microsoft Edge',
  'Library/Application Support/Signal',
  'Library/Application Support/Slack',
  'Library/Application Support/Vivaldi',
  'Library/Application Support/com.operasoftware.Opera',
  'Library/Application Support/discord',
];
// Of KeePass.
const PASSWORD_FILE = /\.kdbx?$/i;
const OF_SYSTEM = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/krb5.keytab',
  '/etc/ssl/private',
  '/etc/wireguard',
  '/etc/NetworkManager/system-connections',
  '/etc/kubernetes',
  '/etc/rancher',
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
  const paths = realPaths([wieldHome, ...(home === undefined ? [] : findInHome(home, now)), ...OF_SYSTEM]);
  return [...new Set([...paths, ...findDotenv(realPath(workdir) ?? workdir, now, paths)])];
}

// By directory, each of which is listed again only if it changed: a stat of each path takes longer than the rest of a plan.
const NESTED = new Map<string, string[]>();
for (const path of IN_HOME) NESTED.set(dirname(path), [...(NESTED.get(dirname(path)) ?? []), basename(path)]);

function findInHome(home: string, now: number): readonly string[] {
  return (listHome(home, now) ?? []).flatMap(({ directory, secrets }) => {
    const names = directory === undefined ? null : listNames(directory, now);
    return names === undefined ? [] : secrets.filter(({ name }) => names?.has(name) !== false).map(({ path }) => path);
  });
}

// What may be in a home: its own entries, and directories that have to be listed.
const listHome = createDirectoryCache((home) => {
  const entries = readNames(home);
  const names = entries && new Set(entries.map((name) => name.toLowerCase()));
  const exists = (path: string): boolean => names?.has(path.split('/', 1)[0]!.toLowerCase()) !== false;
  const vaults = (entries ?? []).filter((name) => PASSWORD_FILE.test(name));
  const toSecret = (parent: string) => (name: string) => ({ name: name.toLowerCase(), path: join(home, parent, name) });
  return [...NESTED].flatMap(([parent, children]) => {
    if (parent === '.')
      return { directory: undefined, secrets: [...children.filter(exists), ...vaults].map(toSecret('.')) };
    return exists(parent) ? { directory: join(home, parent), secrets: children.map(toSecret(parent)) } : [];
  });
});

// The case of names may not count. Null: it cannot be listed, but may be entered.
const listNames = createDirectoryCache((directory): ReadonlySet<string> | null => {
  const names = readNames(directory);
  return names === undefined ? null : new Set(names.map((name) => name.toLowerCase()));
});

function readNames(directory: string): readonly string[] | undefined {
  try {
    return readdirSync(directory);
  } catch {
    return undefined;
  }
}

// Most do not exist, and an exception takes four times as long as a stat.
function realPaths(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (statOrNothing(path) === undefined ? [] : (realPath(path) ?? [])));
}
