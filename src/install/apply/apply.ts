// Carries out a plan: checks, stages, builds, commits, runs hooks. All of it or nothing.

import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { count } from '../../core/text.js';
import { digestParts } from '../../files/digest.js';
import { hashTree } from '../../files/tree.js';
import type { InstallContext, Paths } from '../environment.js';
import type { Installed, InstalledItem } from '../manifest/installed.js';
import type { ItemKind } from '../manifest/item-name.js';
import { keyOf, type PlannedItem } from '../plan/plan-items.js';
import type { Rendering } from '../tokens/targets.js';
import { findAsides, toChanges, toRemoval } from './changes.js';
import { beginTransaction, collectGarbage, commit, endTransaction, objectName } from './commit.js';
import { diffTrees, type FileChange } from './diff.js';
import { consentTo, type Hook, runHook, toHook } from './hooks.js';
import { isOccupied, removeEmpty } from './links.js';
import { writeStaged } from './stage.js';

export interface ApplyOptions {
  readonly context: InstallContext;
  readonly paths: Paths;
  readonly rendering: Rendering;
  readonly installed: Installed;
  readonly planned: readonly PlannedItem[];
  /** Items that go, besides those that are renamed. */
  readonly removed: readonly InstalledItem[];
  readonly force: boolean;
}

/** An item with what installing it changes on disk. */
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

/** What a plan would change, item by item; nothing is built and nothing changed. */
export function previewPlan(options: Omit<ApplyOptions, 'removed' | 'force'>): AppliedItem[] {
  const { paths, rendering, planned } = options;
  const transaction = beginTransaction(paths);
  try {
    return planned.map((one, at) => {
      const directory = join(transaction.staging, String(at));
      writeStaged(one.item, one.form, one.source, rendering, directory);
      const files = diffTrees(objectOf(one.existing, paths), directory, one.existing?.files ?? []);
      return { planned: one, files, installedHash: hashTree(directory), build: 'none' };
    });
  } finally {
    endTransaction(transaction, paths);
  }
}

/** The hooks that a plan would run. */
export function hooksOf(
  planned: readonly PlannedItem[],
  removed: readonly InstalledItem[],
  locations: ReadonlyMap<string, string>,
): Hook[] {
  const hooks = planned.flatMap(({ item, source, form, effective, store }) => {
    const { id, commit: at, location } = source.record;
    const one = (event: Hook['event'], run: string | null, where: string): Hook[] =>
      run === null
        ? []
        : [
            toHook(
              { source: id, commit: at, item: effective, kind: item.kind, event, run, where },
              location,
              form.hash,
            ),
          ];
    return [...one('build', item.build, 'a staging directory'), ...one('install', item.install, store)];
  });
  return [...hooks, ...removed.flatMap((item) => uninstallHook(item, locations))];
}

function uninstallHook(item: InstalledItem, locations: ReadonlyMap<string, string>): Hook[] {
  const { hooks, source, commit: at, effective, store, sourceHash } = item;
  if (hooks.uninstall === null) return [];
  const facts = {
    source,
    commit: at,
    item: effective,
    kind: item.kind,
    event: 'uninstall' as const,
    run: hooks.uninstall,
    where: store,
  };
  return [toHook(facts, locations.get(source) ?? source, sourceHash)];
}

export async function applyPlan(
  options: ApplyOptions,
  locations: ReadonlyMap<string, string>,
): Promise<AppliedItem[]> {
  const { context, paths, planned, removed, installed } = options;
  assertUnmodified(options);
  const asides = findAsides(options);
  const hooks = hooksOf(planned, removed, locations);
  const approved = await consentTo(hooks, paths, context);
  const hookFor = (kind: ItemKind, effective: string, event: Hook['event']): Hook | undefined =>
    hooks.find(
      (hook) =>
        hook.kind === kind && hook.item === effective && hook.event === event && approved.has(hook.digest),
    );
  const transaction = beginTransaction(paths);
  try {
    const staged: StagedItem[] = [];
    for (const [at, one] of planned.entries()) {
      // An interrupt is heard only between turns.
      if (at % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (context.signal.aborted)
        throw new ToolError('cancelled', 'stopped before anything changed', {
          hint: 'run the command again',
        });
      if (planned.length > 20 && at % 100 === 0)
        context.report({ kind: 'progress', text: `staging ${at} of ${count(planned.length, 'item')}` });
      staged.push(
        await stage(
          one,
          join(transaction.staging, String(at)),
          hookFor(one.item.kind, one.effective, 'build'),
          options,
        ),
      );
    }
    // While everything is still in its place: one that fails keeps all of it there.
    for (const item of removed) {
      const hook = hookFor(item.kind, item.effective, 'uninstall');
      if (hook) await runHook(hook, item.store, context);
    }
    const gone = new Set([
      ...removed.map((item) => keyOf(item.source, item.kind, item.name)),
      ...planned.map(({ key }) => key),
    ]);
    const kept = installed.items.filter((item) => !gone.has(keyOf(item.source, item.kind, item.name)));
    const hashes = new Map<string, string>();
    await commit({
      paths,
      transaction,
      changes: [
        ...staged.flatMap((one) => toChanges(one, asides)),
        ...removed.map((item) => toRemoval(item)),
      ],
      staged,
      beforeRecord: async () => {
        for (const { planned: one } of staged) {
          const hook = hookFor(one.item.kind, one.effective, 'install');
          if (hook === undefined) continue;
          await runHook(hook, one.store, context);
          hashes.set(one.key, hashTree(objectPath(staged, one, paths)));
        }
      },
      next: (made) => {
        const items = [...kept, ...staged.map((one) => toInstalled(one, hashes, context))];
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

async function stage(
  planned: PlannedItem,
  directory: string,
  build: Hook | undefined,
  { context, paths, rendering }: ApplyOptions,
): Promise<StagedItem> {
  const { item, form, source, existing } = planned;
  writeStaged(item, form, source, rendering, directory);
  const files = diffTrees(objectOf(existing, paths), directory, existing?.files ?? []);
  if (build) await runHook(build, directory, context);
  const state = item.build === null ? 'none' : build ? 'built' : 'skipped';
  if (state !== 'skipped') assertBin(planned, directory);
  const installedHash = hashTree(directory);
  const owner = digestParts([source.record.location, item.kind, item.name]);
  return {
    planned,
    files,
    installedHash,
    build: state,
    directory,
    object: objectName(paths, owner, installedHash),
  };
}

// INS-20: at install, not at first use.
function assertBin({ item, effective }: PlannedItem, directory: string): void {
  if (item.bin === null) return;
  const stats = lstatSync(join(directory, item.bin), { throwIfNoEntry: false });
  if (stats?.isFile()) return;
  throw new ToolError(
    'invalid_definition',
    `the tool ${effective} has no file ${item.bin}, which is its bin`,
    {
      hint: item.build === null ? 'mend bin:, or add a build that makes it' : 'mend the build, or bin:',
      data: { item: effective, bin: item.bin },
    },
  );
}

function objectOf(existing: InstalledItem | undefined, { objects }: Paths): string | undefined {
  return existing === undefined ? undefined : join(objects, existing.object);
}

function objectPath(staged: readonly StagedItem[], planned: PlannedItem, { objects }: Paths): string {
  return join(objects, staged.find((one) => one.planned === planned)!.object);
}

/** Whether the bytes of an installed item are those that were installed. */
export function isModified({ installedHash, object }: InstalledItem, { objects }: Paths): boolean {
  try {
    return hashTree(join(objects, object)) !== installedHash;
  } catch {
    return true;
  }
}

// INS-27
function assertUnmodified({ planned, force, paths }: ApplyOptions): void {
  if (force) return;
  for (const { existing } of planned) {
    if (existing === undefined || !isOccupied(join(paths.objects, existing.object))) continue;
    if (!isModified(existing, paths)) continue;
    throw new ToolError(
      'conflict',
      `the ${existing.kind} ${existing.effective} was changed where it is installed: ${existing.store}`,
      { hint: 'keep a copy of your changes, then repeat the command with --force, which drops them' },
    );
  }
}

function toInstalled(
  { planned, installedHash, build, object }: StagedItem,
  hashes: ReadonlyMap<string, string>,
  { world }: InstallContext,
): InstalledItem {
  const { source, item, effective, store, links, form, key } = planned;
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
    installedHash: hashes.get(key) ?? installedHash,
    commit: source.record.commit,
    bin: item.bin,
    build,
    hooks: { build: item.build, install: item.install, uninstall: item.uninstall },
    references: form.references,
    files: form.files,
    since: new Date(world.now()).toISOString(),
  };
}
