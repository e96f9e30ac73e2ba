// Finds the commands that start this wield from another program, and that update it.

import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, sep } from 'node:path';
import { quoteWord } from '../core/text.js';
import { realPath } from '../files/within.js';
import type { Io } from './io.js';

/** The command on the PATH. */
export const OWN_NAME = 'wield';

/**
 * Returns `wield` itself for a shared file if it is on the PATH, its absolute path for a personal file, else Node with the
 * file of the binary.
 */
export function findOwnCommand(io: Io, shared: boolean) {
  const { env } = io;
  const binary = realpathSync(io.binary);
  const running = realpathSync(process.execPath);
  const installed = search(env, OWN_NAME, findLauncher(running, binary) ?? binary);
  if (installed !== undefined) return { command: shared ? OWN_NAME : installed, args: [], temporary: false };
  // A link such as `/usr/local/bin/node` survives an upgrade of Node.
  const node = search(env, 'node', running) ?? process.execPath;
  // npm's cache can be cleared.
  return { command: node, args: [binary], temporary: binary.includes(`${sep}_npx${sep}`) };
}

// Returns the launcher of the archive, if this runs with a Node of its own (PKG-5).
function findLauncher(node: string, binary: string): string | undefined {
  const lib = dirname(node);
  const launcher = join(lib, '..', 'bin', OWN_NAME);
  const isArchive = binary.startsWith(join(lib, 'node_modules', 'wield', sep)) && existsSync(launcher);
  return isArchive ? realpathSync(launcher) : undefined;
}

// Skips directories that npm adds to the PATH only while it runs a script.
function search({ PATH = '' }: Io['env'], program: string, real: string): string | undefined {
  return PATH.split(delimiter)
    .filter((directory) => isAbsolute(directory) && !/[\\/]node_modules[\\/]\.bin$/.test(directory))
    .map((directory) => join(directory, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return realpathSync(path) === real;
      } catch {
        return false;
      }
    });
}

const MODULES = `${sep}node_modules${sep}`;
// By the lock of the project.
const MANAGERS = {
  'pnpm-lock.yaml': 'pnpm add',
  'yarn.lock': 'yarn add',
  'bun.lock': 'bun add',
  'bun.lockb': 'bun add',
};

/** Returns the command that updates this wield, by the place it was installed to, for a shell (PKG-8). */
export function findOwnUpdate(io: Io): string {
  const node = realpathSync(process.execPath);
  const binary = realPath(io.binary) ?? io.binary;
  const launcher = findLauncher(node, binary);
  // PREFIX/lib/wield/bin/wield
  if (launcher !== undefined) return `sh install.sh --prefix ${quoteWord(join(launcher, '../../../..'))}`;
  if (binary.includes(`${sep}_npx${sep}`)) return 'npx wield@latest';
  if (binary.includes(`${sep}Cellar${sep}wield${sep}`)) return 'brew upgrade wield';
  const at = binary.indexOf(MODULES);
  if (at < 0) {
    const clone = quoteWord(join(dirname(binary), '../..'));
    return `cd ${clone} && git pull && npm ci && npm run build`;
  }
  const directory = binary.slice(0, at);
  if (!directory.endsWith(`${sep}lib`)) {
    if (/[\\/]pnpm[\\/]global[\\/]/.test(`${directory}${sep}`)) return 'pnpm add --global wield@latest';
    const [, add = 'npm install'] = Object.entries(MANAGERS).find(([lock]) => existsSync(join(directory, lock))) ?? [];
    return `cd ${quoteWord(directory)} && ${add} wield@latest`;
  }
  const prefix = dirname(directory);
  // npm's own prefix is that of Node.
  const isDefault = prefix === join(node, '../..');
  return `npm install --global ${isDefault ? '' : `--prefix ${quoteWord(prefix)} `}wield@latest`;
}
