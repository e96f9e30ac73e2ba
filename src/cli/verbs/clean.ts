// `wield clean`: removes what wield can make again or what means nothing any more, and nothing else.

import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { count, formatBytes } from '../../core/text.js';
import { printJson } from '../print.js';
import type { Verb } from '../verb.js';

interface Removable {
  readonly path: string;
  readonly bytes: number;
}

export const clean: Verb = {
  name: 'clean',
  usage: 'clean [--dry-run] [--json]',
  summary: 'Remove caches, which are made again when they are needed, and approvals that expired.',
  examples: ['wield clean --dry-run', 'wield clean'],
  flags: { 'dry-run': { kind: 'switch', description: 'Show what would be removed, and remove nothing' } },
  positionals: 0,
  async run({ terminal, flags, json, toolbox }) {
    const dryRun = flags.has('dry-run');
    const { wieldHome, approvals } = toolbox();
    const stale = (await approvals()).stale().map(({ path }) => path);
    const found = [...findRemovable(join(wieldHome, 'cache')), ...stale.map(toRemovable)];
    if (!dryRun) for (const { path } of found) rmSync(path, { force: true });
    const bytes = found.reduce((sum, file) => sum + file.bytes, 0);
    if (json) printJson(terminal, { ok: true, dryRun, removed: found, bytes });
    else {
      const what = `${count(found.length, 'file')}, ${formatBytes(bytes)}`;
      terminal.out(
        found.length === 0 ? '  nothing to remove\n' : `  ${dryRun ? 'would remove' : 'removed'}  ${what}\n`,
      );
    }
    return 0;
  },
};

function findRemovable(directory: string): Removable[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map(toRemovable);
  } catch {
    return [];
  }
}

function toRemovable(path: string): Removable {
  return { path, bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0 };
}
