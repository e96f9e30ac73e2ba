// Finds the command that updates this wield, by the place it was installed to.

import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { quoteWord } from '../core/text.js';
import { realPath } from '../files/within.js';
import type { Io } from './io.js';
import { findLauncher } from './own-command.js';

const MODULES = `${sep}node_modules${sep}`;
// By the lock of the project.
const MANAGERS = {
  'pnpm-lock.yaml': 'pnpm add',
  'yarn.lock': 'yarn add',
  'bun.lock': 'bun add',
  'bun.lockb': 'bun add',
};

/** Returns the command for a shell (PKG-8). */
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
