// The settings files that clients read permissions from.

import { basename, dirname, join } from 'node:path';
import { namesIn } from '../../files/list.js';
import { readTextFile, statOrNothing } from '../../files/read.js';
import type { ClientEnvironment, Scope } from '../client.js';
import { readConfig, toPlain } from '../config-file.js';
import { jsonForm } from '../forms/json.js';
import { tomlForm } from '../forms/toml.js';
import { below, inApplicationData } from '../table.js';
import { type Permission, READERS, readCommandRules, readGeminiPolicy } from './read.js';

export interface PermissionFile {
  readonly client: string;
  readonly scope: Scope;
  readonly path: string;
}

// `*.` begins the name of all files with this ending.
type Paths = readonly (string | ((environment: ClientEnvironment) => string))[];

const FILES: Readonly<Record<string, Readonly<Record<Scope, Paths>>>> = {
  'claude-code': {
    project: ['.claude/settings.json', '.claude/settings.local.json'],
    user: [
      below('CLAUDE_CONFIG_DIR', '.claude', 'settings.json'),
      ({ platform }) =>
        platform === 'darwin'
          ? '/Library/Application Support/ClaudeCode/managed-settings.json'
          : '/etc/claude-code/managed-settings.json',
    ],
  },
  codex: {
    project: ['.codex/config.toml', '.codex/rules/*.rules'],
    user: [
      below('CODEX_HOME', '.codex', 'config.toml'),
      below('CODEX_HOME', '.codex', 'requirements.toml'),
      below('CODEX_HOME', '.codex', 'rules', '*.rules'),
      () => '/etc/codex/requirements.toml',
    ],
  },
  'gemini-cli': {
    project: ['.gemini/settings.json', '.gemini/policies/*.toml'],
    user: [
      '.gemini/settings.json',
      '.gemini/policies/*.toml',
      ({ platform }) =>
        platform === 'darwin'
          ? '/Library/Application Support/GeminiCli/policies/*.toml'
          : '/etc/gemini-cli/policies/*.toml',
    ],
  },
  cursor: {
    project: ['.cursor/permissions.json', '.cursor/cli.json'],
    user: ['.cursor/permissions.json', '.cursor/cli-config.json'],
  },
  vscode: { project: ['.vscode/settings.json'], user: [inApplicationData('Code', 'User', 'settings.json')] },
};

export const PERMISSION_CLIENTS: readonly string[] = Object.keys(FILES);

/** Returns the existing files of some clients. */
export function findPermissionFiles(clients: readonly string[], environment: ClientEnvironment): PermissionFile[] {
  const { workdir, home } = environment;
  const roots: Readonly<Record<Scope, string>> = { project: workdir, user: home };
  const found = clients.flatMap((client) =>
    (['project', 'user'] as const).flatMap((scope) =>
      FILES[client]![scope].map((path) => (typeof path === 'string' ? join(roots[scope], path) : path(environment)))
        .flatMap(expand)
        .map((path) => ({ client, scope, path })),
    ),
  );
  // In the home directory itself, both are the same file: the user's.
  const isOfUser = (path: string): boolean => found.some((one) => one.scope === 'user' && one.path === path);
  return found.filter(({ scope, path }) => statOrNothing(path) !== undefined && (scope === 'user' || !isOfUser(path)));
}

function expand(path: string): string[] {
  const name = basename(path);
  if (!name.startsWith('*.')) return [path];
  const names = namesIn(dirname(path)).filter((one) => one.endsWith(name.slice(1)));
  return names.map((one) => join(dirname(path), one));
}

/** Reads a file. Throws a ToolError with the line if it is not valid. */
export function readPermissions({ client, path }: PermissionFile): readonly Permission[] {
  if (path.endsWith('.rules')) return readCommandRules(readTextFile(path) ?? '');
  const document = toPlain(readConfig(path, path.endsWith('.toml') ? tomlForm : jsonForm).document);
  return (basename(dirname(path)) === 'policies' ? readGeminiPolicy : READERS[client]!)(document);
}
