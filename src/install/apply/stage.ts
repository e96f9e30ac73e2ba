// Stages items: writes their installed form, runs their build and names the objects they become.

import { isUtf8 } from 'node:buffer';
import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nextTurn } from '../../core/async.js';
import { orNothing, ToolError } from '../../core/error.js';
import { compareText, count, revealHidden } from '../../core/text.js';
import { lineDiff } from '../../files/diff.js';
import { makeDirectory } from '../../files/make-directory.js';
import { createTreeHash, listTree, readTreeFile, writeTreeFile } from '../../files/tree.js';
import type { Hook } from '../environment.js';
import { hashInstalled, type InstalledHashes } from '../hashes.js';
import { runHook } from '../hooks.js';
import type { Inventory } from '../inventory.js';
import { effectiveName, type ItemKind } from '../manifest/item-name.js';
import type { PlannedItem } from '../plan/plan-items.js';
import type { InstalledItem } from '../state.js';
import { expandFile, readItemFile, rootOf } from '../tokens/source-form.js';
import type { Rendering } from '../tokens/targets.js';
import { objectName } from './objects.js';

export interface AppliedItem extends InstalledHashes {
  readonly planned: PlannedItem;
  readonly files: readonly FileChange[];
  readonly build: InstalledItem['build'];
}

export interface StagedItem extends AppliedItem {
  readonly directory: string;
  readonly object: string;
}

/** Returns an approved hook of an item. */
export type FindHook = (kind: ItemKind, effective: string, event: Hook['event']) => Hook | undefined;

export async function stageAll(
  planned: readonly PlannedItem[],
  staging: string,
  findHook: FindHook,
  inventory: Inventory,
): Promise<StagedItem[]> {
  const { signal, report } = inventory.environment;
  const staged: StagedItem[] = [];
  for (const [at, one] of planned.entries()) {
    // Staging is synchronous; yield now and then so that an interrupt is noticed.
    if (at % 50 === 0) await nextTurn();
    if (signal.aborted)
      throw new ToolError('cancelled', 'cancelled before anything was changed', { hint: 'run the command again' });
    if (planned.length > 20 && at % 100 === 0)
      report({ kind: 'progress', text: `staging ${at} of ${count(planned.length, 'item')}` });
    const build = findHook(one.item.kind, one.effective, 'build');
    staged.push(await stage(one, join(staging, String(at)), build, inventory));
  }
  return staged;
}

async function stage(
  planned: PlannedItem,
  directory: string,
  hook: Hook | undefined,
  inventory: Inventory,
): Promise<StagedItem> {
  const { environment, rendering } = inventory;
  const { item, source } = planned;
  const files = writeAndDiff(planned, directory, inventory);
  const before = hashInstalled(directory, rendering);
  if (hook) await runHook(hook, directory, environment);
  const build = item.build === null ? 'none' : hook ? 'built' : 'skipped';
  if (build !== 'skipped') assertBin(planned, directory);
  const hashes = hook ? hashInstalled(directory, rendering, before.portable.installed) : before;
  const identity = [source.record.location, item.kind, effectiveName(item.plugin, item.name)];
  const object = objectName(environment.paths, identity, hashes.installedHash);
  return { planned, files, build, directory, object, ...hashes };
}

/** Writes the installed form and compares it with the installed files. */
export function writeAndDiff(
  planned: PlannedItem,
  directory: string,
  { rendering, environment: { paths } }: Inventory,
): FileChange[] {
  const { existing } = planned;
  writeStaged(planned, rendering, directory);
  const before = existing === undefined ? undefined : join(paths.objects, existing.object);
  return diffTrees(before, directory, existing?.files ?? []);
}

// INS-20: at install, not at first use.
function assertBin({ item, effective }: PlannedItem, directory: string): void {
  if (item.bin === null) return;
  if (lstatSync(join(directory, item.bin), { throwIfNoEntry: false })?.isFile()) return;
  throw new ToolError('invalid_definition', `the bin of the tool ${effective} does not exist: ${item.bin}`, {
    hint: item.build === null ? 'fix bin:, or add a build that creates it' : 'fix the build, or bin:',
    data: { item: effective, bin: item.bin },
  });
}

/**
 * Expands tokens and preserves executable bits; the directory must be empty. Throws `conflict` if the source is not the
 * planned one any more: hooks were approved for those bytes (HOOK-6).
 */
function writeStaged({ item, form, source, effective }: PlannedItem, rendering: Rendering, directory: string): void {
  makeDirectory(directory);
  const root = rootOf(item, source.tree);
  const hash = createTreeHash();
  for (const file of form.all) {
    const { path, executable, from = path } = file;
    const bytes = readItemFile(item, root, from);
    hash.add(file, bytes);
    const to = join(directory, item.file ? `${item.name}.md` : path);
    if (path.includes('/')) makeDirectory(dirname(to));
    writeTreeFile(to, expandFile(item, path, bytes, source, rendering), executable);
  }
  if (hash.digest() !== form.contentHash)
    throw new ToolError('conflict', `the ${item.kind} ${effective} changed while it was being installed`, {
      hint: 'run the command again',
    });
}

export interface FileChange {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  /** Lines prefixed with `+`, `-` or two spaces; empty for binary and very large files. */
  readonly lines: readonly string[];
}

const MAX_DIFF_BYTES = 1024 * 1024;

/** Returns no changes without a tree before. Only files in `known` count as removed; others were created locally. */
function diffTrees(before: string | undefined, after: string, known: readonly string[]): FileChange[] {
  const pathsIn = (tree: string): ReadonlySet<string> => new Set(listTree(tree).map(({ path }) => path));
  // A tree that cannot be listed was changed or removed locally.
  const oldPaths = before === undefined ? undefined : orNothing(() => pathsIn(before));
  if (before === undefined || oldPaths === undefined) return [];
  const newPaths = pathsIn(after);
  const removed = known.filter((path) => oldPaths.has(path) && !newPaths.has(path));
  return [...newPaths, ...removed].sort(compareText).flatMap((path) => {
    const read = (tree: string, exists: boolean): Buffer => (exists ? readTreeFile(tree, path) : Buffer.alloc(0));
    const [old, now] = [read(before, oldPaths.has(path)), read(after, newPaths.has(path))];
    if (old.equals(now) && oldPaths.has(path) === newPaths.has(path)) return [];
    if (![old, now].every((side) => side.length <= MAX_DIFF_BYTES && !side.includes(0) && isUtf8(side)))
      return [{ path, added: 0, removed: 0, lines: [] }];
    const lines = lineDiff(old.toString('utf8'), now.toString('utf8')).map(revealHidden);
    const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
    return [{ path, added: count('+'), removed: count('-'), lines }];
  });
}
