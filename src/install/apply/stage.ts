// Writes the installed form of an item into a staging directory.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PlannedItem } from '../plan/plan-items.js';
import { expandFile } from '../tokens/source-form.js';
import type { Rendering } from '../tokens/targets.js';

/** Expands tokens and preserves executable bits; the directory must be empty. */
export function writeStaged(
  { item, form, source }: PlannedItem,
  rendering: Rendering,
  directory: string,
): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const { path, executable } of form.all) {
    const to = join(directory, item.file ? `${item.name}.md` : path);
    if (path.includes('/')) mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const mode = executable ? 0o755 : 0o644;
    writeFileSync(to, expandFile(item, path, source, rendering), { flag: 'wx', mode });
    chmodSync(to, mode);
  }
}
