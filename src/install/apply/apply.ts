// Applies a plan: stages the items, commits them and runs their hooks. All or nothing.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { removeEmpty } from '../../files/remove.js';
import { isOccupied, type Link, linkKey } from '../directory.js';
import type { InstallPaths } from '../environment.js';
import { hashInstalled } from '../hashes.js';
import { approveHooks, changedError, runHook, uninstallHook } from '../hooks.js';
import type { Inventory } from '../inventory.js';
import { itemKey } from '../manifest/item-name.js';
import type { PlannedItem } from '../plan/plan-items.js';
import type { InstallPlan } from '../plan/plans.js';
import { assertSourceAllowed } from '../sources/location.js';
import { assertSigned } from '../sources/signature.js';
import type { InstalledItem } from '../state.js';
import { findAsides, toChanges, toRemoval } from './changes.js';
import { commit, type FileEdit } from './commit.js';
import { beginTransaction, collectGarbage, endTransaction, isModified } from './objects.js';
import { type AppliedItem, type FindHook, type StagedItem, stageAll, writeAndDiff } from './stage.js';

/** Throws unless the sources of a plan are allowed, and signed: they may have been added before a list (POL-42, INS-93). */
export async function assertUsable(
  { planned }: Pick<InstallPlan, 'planned'>,
  { environment }: Inventory,
): Promise<void> {
  for (const record of new Set(planned.map(({ source }) => source.record))) {
    assertSourceAllowed(record, environment);
    await assertSigned(record, environment);
  }
}

/** Returns the changes of a plan without building or changing anything. */
export async function previewPlan(plan: InstallPlan, inventory: Inventory): Promise<AppliedItem[]> {
  await assertUsable(plan, inventory);
  const { planned } = plan;
  const { paths } = inventory.environment;
  const transaction = beginTransaction(paths);
  try {
    return planned.map((one, at) => {
      const directory = join(transaction.staging, String(at));
      const files = writeAndDiff(one, directory, inventory);
      return { planned: one, files, build: 'none', ...hashInstalled(directory, inventory.rendering) };
    });
  } finally {
    endTransaction(transaction, paths);
  }
}

export interface ApplyOptions {
  /** Sees what was staged, and again what install hooks changed; if it throws, nothing is changed. */
  readonly check?: (items: readonly AppliedItem[]) => void;
  /** Links of another program that are replaced, by the keys of the items. */
  readonly replaces?: ReadonlyMap<string, readonly Link[]>;
  /** Files that are written with the change. */
  readonly files?: readonly FileEdit[];
}

/**
 * Applies a plan and pins its tools (POL-21). `force` discards local changes, and moves aside files at the paths of
 * links.
 */
export async function applyPlan(
  plan: InstallPlan,
  force: boolean,
  inventory: Inventory,
  { check = () => {}, replaces = new Map(), files = [] }: ApplyOptions = {},
): Promise<readonly AppliedItem[]> {
  const { planned, removed, hooks } = plan;
  if (planned.length === 0 && removed.length === 0 && files.length === 0) return [];
  const { environment, installed } = inventory;
  const { paths } = environment;
  await assertUsable(plan, inventory);
  if (!force) assertUnmodified(planned, paths);
  const asides = findAsides(
    plan,
    force,
    inventory,
    new Set([...replaces.values()].flat().map(({ path }) => linkKey(path))),
  );
  const approved = await approveHooks(hooks, environment);
  const findHook: FindHook = (kind, effective, event) =>
    hooks.find(
      (hook) => hook.kind === kind && hook.item === effective && hook.event === event && approved.has(hook.digest),
    );
  assertBuilds(planned, findHook);
  const transaction = beginTransaction(paths);
  try {
    const staged = await stageAll(planned, transaction.staging, findHook, inventory);
    const hasHook = ({ planned: { item, effective } }: StagedItem): boolean =>
      findHook(item.kind, effective, 'install') !== undefined;
    check(staged.filter((one) => !hasHook(one)));
    // Before any change: a failing hook leaves everything in place.
    for (const item of removed) {
      const hook = findHook(item.kind, item.effective, 'uninstall');
      if (hook === undefined) continue;
      if (uninstallHook(item, inventory)?.digest !== hook.digest) throw changedError(item.effective);
      await runHook(hook, item.store, environment);
    }
    const goneKeys = new Set([...removed.map(itemKey), ...planned.map(({ key }) => key)]);
    const kept = installed.items.filter((item) => !goneKeys.has(itemKey(item)));
    // With their hashes after install hooks.
    const done: StagedItem[] = [];
    await commit({
      environment,
      transaction,
      changes: [
        ...staged.flatMap((one) => toChanges(one.planned, one.object, asides, replaces.get(one.planned.key))),
        ...removed.map((item) => toRemoval(item)),
      ],
      staged,
      pinned: staged.map(({ planned: { key } }) => key),
      files,
      beforeRecord: async () => {
        for (const one of staged) {
          const { planned: of, object, portable } = one;
          const hook = findHook(of.item.kind, of.effective, 'install');
          if (hook !== undefined) await runHook(hook, of.store, environment);
          const hashes = hook && hashInstalled(join(paths.objects, object), inventory.rendering, portable.installed);
          done.push({ ...one, ...hashes });
        }
        check(done.filter(hasHook));
      },
      next: (made) => {
        const now = new Date(environment.world.now()).toISOString();
        const items = [...kept, ...done.map((one) => toInstalled(one, now))];
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

// HOOK-4: an installed version that works is not replaced by one that is not built.
function assertBuilds(planned: readonly PlannedItem[], findHook: FindHook): void {
  const unbuilt = planned.filter(
    ({ item, effective, existing }) =>
      item.build !== null &&
      existing !== undefined &&
      existing.build !== 'skipped' &&
      findHook(item.kind, effective, 'build') === undefined,
  );
  if (unbuilt.length === 0) return;
  const names = unbuilt.map(({ effective }) => effective).join(', ');
  throw new ToolError('needs_approval', `nothing was changed: the build hook of ${names} was not approved`, {
    hint: 'review it with --dry-run, then pass --run-hooks',
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
  { planned, installedHash, digests, portable, build, object }: StagedItem,
  since: string,
): InstalledItem {
  const { source, item, effective, store, links, form } = planned;
  return {
    source: source.record.id,
    kind: item.kind,
    name: item.name,
    path: item.path,
    plugin: item.plugin,
    effective,
    description: item.description,
    store,
    object,
    links: links.map(({ path }) => path),
    sourceHash: form.hash,
    contentHash: form.contentHash,
    installedHash,
    portable,
    commit: source.record.commit,
    bin: item.bin,
    build,
    hooks: { build: item.build, install: item.install, uninstall: item.uninstall },
    references: form.references,
    files: form.files,
    digests,
    since,
  };
}
