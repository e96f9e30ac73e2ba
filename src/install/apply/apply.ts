// Applies a plan: stages and builds the items, commits them and runs their hooks. All or nothing.

import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { count } from '../../core/text.js';
import { hashTree } from '../../files/tree.js';
import { isOccupied, removeEmpty } from '../directory.js';
import type { InstallPaths } from '../environment.js';
import { approveHooks } from '../hooks/approve.js';
import type { Hook } from '../hooks/hook.js';
import { runHook } from '../hooks/run.js';
import type { Inventory } from '../inventory.js';
import type { InstalledItem } from '../manifest/installed.js';
import { type ItemKind, itemKey } from '../manifest/item-name.js';
import type { PlannedItem } from '../plan/plan-items.js';
import type { InstallPlan } from '../plan/plans.js';
import { findAsides, toChanges, toRemoval } from './changes.js';
import { commit } from './commit.js';
import { diffTrees, type FileChange } from './diff.js';
import { beginTransaction, collectGarbage, endTransaction, isModified, objectName } from './objects.js';
import { writeStaged } from './stage.js';

export interface AppliedItem {
  readonly planned: PlannedItem;
  readonly files: readonly FileChange[];
  readonly installedHash: string;
  readonly build: InstalledItem['build'];
}

interface StagedItem extends AppliedItem {
  readonly directory: string;
  readonly object: string;
}

/** Returns the changes of a plan without building or changing anything. */
export function previewPlan({ planned }: InstallPlan, inventory: Inventory): AppliedItem[] {
  const { paths } = inventory.environment;
  const transaction = beginTransaction(paths);
  try {
    return planned.map((one, at) => {
      const directory = join(transaction.staging, String(at));
      const files = writeAndDiff(one, directory, inventory);
      return { planned: one, files, installedHash: hashTree(directory), build: 'none' };
    });
  } finally {
    endTransaction(transaction, paths);
  }
}

/** `force` discards local changes, and moves aside files at the paths of links. */
export async function applyPlan(
  plan: InstallPlan,
  force: boolean,
  inventory: Inventory,
): Promise<readonly AppliedItem[]> {
  const { planned, removed, hooks } = plan;
  if (planned.length === 0 && removed.length === 0) return [];
  const { environment, installed } = inventory;
  const { paths } = environment;
  if (!force) assertUnmodified(planned, paths);
  const asides = findAsides(plan, force, inventory);
  const approved = await approveHooks(hooks, environment);
  const findHook: FindHook = (kind, effective, event) =>
    hooks.find(
      (hook) =>
        hook.kind === kind && hook.item === effective && hook.event === event && approved.has(hook.digest),
    );
  const transaction = beginTransaction(paths);
  try {
    const staged = await stageAll(planned, transaction.staging, findHook, inventory);
    // Before any change: a failing hook leaves everything in place.
    for (const { kind, effective, store } of removed) {
      const hook = findHook(kind, effective, 'uninstall');
      if (hook) await runHook(hook, store, environment);
    }
    const goneKeys = new Set([...removed.map(itemKey), ...planned.map(({ key }) => key)]);
    const kept = installed.items.filter((item) => !goneKeys.has(itemKey(item)));
    const hashesAfterHook = new Map<string, string>();
    await commit({
      paths,
      transaction,
      changes: [
        ...staged.flatMap((one) => toChanges(one.planned, one.object, asides)),
        ...removed.map((item) => toRemoval(item)),
      ],
      staged,
      beforeRecord: async () => {
        for (const { planned: one, object } of staged) {
          const hook = findHook(one.item.kind, one.effective, 'install');
          if (hook === undefined) continue;
          await runHook(hook, one.store, environment);
          hashesAfterHook.set(object, hashTree(join(paths.objects, object)));
        }
      },
      next: (made) => {
        const now = new Date(environment.world.now()).toISOString();
        const items = [
          ...kept,
          ...staged.map((one) => toInstalled(one, hashesAfterHook.get(one.object), now)),
        ];
        const directories = [...new Set([...installed.made, ...made])];
        return { items, made: items.length > 0 ? directories : removeEmpty(directories) };
      },
    });
    return staged;
  } finally {
    endTransaction(transaction, paths);
    collectGarbage(paths);
  }
}

type FindHook = (kind: ItemKind, effective: string, event: Hook['event']) => Hook | undefined;

async function stageAll(
  planned: readonly PlannedItem[],
  staging: string,
  findHook: FindHook,
  inventory: Inventory,
): Promise<StagedItem[]> {
  const { signal, report } = inventory.environment;
  const staged: StagedItem[] = [];
  for (const [at, one] of planned.entries()) {
    // Staging is synchronous; yield now and then so that an interrupt is noticed.
    if (at % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted)
      throw new ToolError('cancelled', 'cancelled before anything was changed', {
        hint: 'run the command again',
      });
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
  const { environment } = inventory;
  const { item, source } = planned;
  const files = writeAndDiff(planned, directory, inventory);
  if (hook) await runHook(hook, directory, environment);
  const build = item.build === null ? 'none' : hook ? 'built' : 'skipped';
  if (build !== 'skipped') assertBin(planned, directory);
  const installedHash = hashTree(directory);
  const identity = [source.record.location, item.kind, item.name];
  const object = objectName(environment.paths, identity, installedHash);
  return { planned, files, installedHash, build, directory, object };
}

function writeAndDiff(
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

// INS-27
function assertUnmodified(planned: readonly PlannedItem[], paths: InstallPaths): void {
  for (const { existing } of planned) {
    if (existing === undefined || !isOccupied(join(paths.objects, existing.object))) continue;
    if (!isModified(existing, paths)) continue;
    throw new ToolError(
      'conflict',
      `the ${existing.kind} ${existing.effective} was modified locally: ${existing.store}`,
      { hint: 'back up your changes, then repeat the command with --force to discard them' },
    );
  }
}

function toInstalled(
  { planned, installedHash, build, object }: StagedItem,
  hashAfterHook: string | undefined,
  since: string,
): InstalledItem {
  const { source, item, effective, store, links, form } = planned;
  return {
    source: source.record.id,
    kind: item.kind,
    name: item.name,
    effective,
    description: item.description,
    store,
    object,
    links: links.map(({ path }) => path),
    sourceHash: form.hash,
    installedHash: hashAfterHook ?? installedHash,
    commit: source.record.commit,
    bin: item.bin,
    build,
    hooks: { build: item.build, install: item.install, uninstall: item.uninstall },
    references: form.references,
    files: form.files,
    since,
  };
}
