// The managed files of this machine: `config.toml` and `config.d/*.toml` of one directory.

import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemReason } from '../core/error.js';
import { findUnsafe } from '../files/state.js';

/** Where the managed files are. Nothing that a user or a project writes can change it; an object for tests alone. */
export const MANAGED = { directory: '/etc/wield' };

export interface ManagedFiles {
  /** In the order in which they apply: each one can only narrow what those before it set. */
  readonly files: readonly string[];
  /** Why a directory cannot be used; then everything is denied (POL-9). */
  readonly fault?: { readonly path: string; readonly what: string };
}

export function listManaged(directory: string): ManagedFiles {
  const files = [join(directory, 'config.toml')];
  const parts = join(directory, 'config.d');
  for (const path of [directory, parts]) {
    try {
      // A dangling link means that the directory was meant to exist.
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) break;
      const unsafe = findUnsafe(statSync(path));
      if (unsafe === 'writable')
        return { files, fault: { path, what: `others can write to it; run: chmod go-w ${path}` } };
      if (unsafe === 'foreign')
        return { files, fault: { path, what: `belongs to another user; run: sudo chown root ${path}` } };
      if (path === parts)
        files.push(
          ...readdirSync(path)
            .filter(isPart)
            .sort()
            .map((name) => join(path, name)),
        );
    } catch (error) {
      return { files, fault: { path, what: systemReason(error) } };
    }
  }
  return { files };
}

// As the shell matches `*.toml`: hidden files belong to editors and to mounted volumes.
function isPart(name: string): boolean {
  return name.endsWith('.toml') && !name.startsWith('.');
}
