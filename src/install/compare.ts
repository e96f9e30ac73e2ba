// Compares what is recorded as installed with the files on disk, with the sources and with the lock.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError, orNothing } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import { linkTarget } from './apply/changes.js';
import { isInterrupted } from './apply/commit.js';
import { isModified } from './apply/objects.js';
import { isOccupied, readLink } from './directory.js';
import { type InstallEnvironment, type InstallPaths, pathsOf, REFUSE_ALL } from './environment.js';
import { nameChanges, portableHash } from './hashes.js';
import { type Inventory, loadInventory } from './inventory.js';
import { type LockedItem, lockedByKey, readLock } from './lock-file.js';
import { type ItemKind, itemKey } from './manifest/item-name.js';
import { isRebuilt, type PlannedItem, planItems } from './plan/plan-items.js';
import { findAvailable } from './plan/plans.js';
import { removeUnusedClones } from './sources/clones.js';
import { fetchSource, forEachSource } from './sources/fetch.js';
import { availableKey, loadSourceTrees } from './sources/load.js';
import { type InstalledItem, loadInstalled, loadSources, type SourceRecord } from './state.js';
import { type ReadableToolbox, toReadOnlyEnvironment } from './toolbox-environment.js';

/** Whether an installed item is as it was installed, or what changed. */
export type ItemState = 'clean' | keyof typeof ADVICE;

// What is wrong with an item in a state, and what to do about it, for its name.
const ADVICE = {
  missing: ['is missing from the store', () => 'wield doctor --fix restores it'],
  'locally modified': [
    'was modified locally',
    (name) => `wield install ${name} --accept keeps the changes, --force discards them`,
  ],
  'broken link': ['has a missing or changed link', () => 'wield doctor --fix links it again'],
  unbuilt: ['is not built: its build hook was skipped', (name) => `wield install ${name} --run-hooks builds it`],
  'upstream changed': ['changed in its source', () => 'wield upgrade --dry-run shows the changes'],
  renamed: ['was renamed in its source', () => 'wield upgrade renames it'],
  pending: ['refers to an item that changed', () => 'wield upgrade updates it'],
  'gone upstream': ['is no longer in its source', (name) => `wield uninstall ${name} removes it`],
  'bad reference': [
    'refers to an item that does not exist in its source',
    () => 'report it to the author of the source',
  ],
} satisfies Readonly<Record<string, readonly [message: string, hint: (name: string) => string]>>;

export interface ItemStatus {
  readonly item: InstalledItem;
  /** `clean` alone, or every other state that applies. */
  readonly states: readonly ItemState[];
  /** The new effective name of a renamed item. */
  readonly renamedTo?: string | undefined;
}

/** Compares every installed item with its files and its source, without fetching anything (INS-26). */
export function readStatus(inventory: Inventory): ItemStatus[] {
  const planned = planInstalled(inventory);
  return inventory.installed.items.map((item) => {
    const now = planned.get(itemKey(item)) ?? 'gone upstream';
    const states = [...compareFiles(item, inventory.environment.paths), ...compareSource(item, now)];
    const renamedTo = typeof now === 'object' && now.change === 'rename' ? now.effective : undefined;
    return { item, states: states.length === 0 ? ['clean'] : states, renamedTo };
  });
}

/** Compares the files and links of an installed item with its record. */
export function compareFiles(item: InstalledItem, paths: InstallPaths): ItemState[] {
  const object = join(paths.objects, item.object);
  if (!existsSync(object) || readLink(item.store) !== object) return ['missing'];
  const states: ItemState[] = [];
  if (isModified(item, paths)) states.push('locally modified');
  if (item.links.some((link) => readLink(link) !== linkTarget(item))) states.push('broken link');
  if (item.build === 'skipped') states.push('unbuilt');
  return states;
}

function compareSource(item: InstalledItem, now: PlannedItem | ItemState): ItemState[] {
  if (typeof now === 'string') return [now];
  if (now.change === 'rename') return ['renamed'];
  if (now.change === 'pending') return ['pending'];
  const isChanged = now.form.hash !== item.sourceHash || now.item.bin !== item.bin || isRebuilt(item, now);
  return isChanged ? ['upstream changed'] : [];
}

/** Plans all installed items at once; if that fails, each on its own to find the faulty ones. Keys are those of the items. */
export function planInstalled(inventory: Inventory): ReadonlyMap<string, PlannedItem | ItemState> {
  const available = inventory.installed.items.flatMap((item) => findAvailable(item, inventory) ?? []);
  try {
    return new Map(planItems(available, inventory).map((one) => [one.key, one]));
  } catch (error) {
    if (!isToolError(error)) throw error;
  }
  const plan = (key: string, one: (typeof available)[number]): PlannedItem | ItemState => {
    try {
      return planItems([one], inventory).find((planned) => planned.key === key)!;
    } catch (error) {
      if (!isToolError(error)) throw error;
      return error.code === 'bad_reference' ? 'bad reference' : 'upstream changed';
    }
  };
  return new Map(available.map((one) => [availableKey(one), plan(availableKey(one), one)]));
}

/** Returns everything that is not clean, with what to do about it (INS-26). */
export function findInstallProblems(toolbox: ReadableToolbox): Problem[] {
  const paths = pathsOf(toolbox.machine.wieldHome);
  const problems: Problem[] = [];
  const add = (path: string, message: string, hint: string): void => {
    problems.push({ severity: 'error', path, message, hint });
  };
  try {
    if (isInterrupted(paths))
      add(paths.journal, 'a change was interrupted', 'wield list --installed finishes or undoes it');
    const environment = toReadOnlyEnvironment(toolbox, {
      report: ({ text }) => add(paths.sources, text, 'fix the source, or remove it with wield remove --source'),
    });
    for (const { item, states, renamedTo } of readStatus(loadInventory(environment)))
      for (const state of states) {
        if (state === 'clean') continue;
        const [message, hint] = ADVICE[state];
        const to = renamedTo === undefined ? '' : `: ${item.effective} → ${renamedTo}`;
        add(item.store, `the ${item.kind} ${item.effective} ${message}${to}`, hint(`${item.kind}:${item.effective}`));
      }
  } catch (error) {
    if (!isToolError(error)) throw error;
    add(paths.installedFile, error.message, error.hint ?? '');
  }
  return problems;
}

const NEWER: readonly ItemState[] = ['upstream changed', 'renamed', 'pending', 'gone upstream'];

/**
 * Fetches the sources of installed items, and returns what is newer, with the commit that an upgrade would install, null for
 * a local directory, and the sources that could not be fetched. Hooks do not run, and the registered commits stay.
 */
export async function findOutdated(environment: InstallEnvironment) {
  const { paths } = environment;
  const quiet: InstallEnvironment = { ...environment, ...REFUSE_ALL, report() {} };
  const records = loadSources(paths);
  try {
    const inventory = loadInventory(quiet);
    const used = new Set(inventory.installed.items.map(({ source }) => source));
    const unsaved: SourceRecord[] = [];
    const { failed } = await forEachSource(
      records.filter(({ id, kind }) => used.has(id) && kind !== 'local'),
      async (record) => {
        unsaved.push((await fetchSource(record, record, quiet, { unsaved })).record);
      },
    );
    const newest = records.map((record) => unsaved.find(({ id }) => id === record.id) ?? record);
    const items = readStatus({ ...inventory, sources: loadSourceTrees(newest, quiet) }).flatMap((status) => {
      const states = status.states.filter((state) => NEWER.includes(state));
      const latest = newest.find(({ id }) => id === status.item.source)?.commit ?? null;
      return states.length === 0 ? [] : [{ ...status, states, latest }];
    });
    return { items, failed };
  } finally {
    removeUnusedClones(paths, records);
  }
}

export interface Difference {
  readonly kind: ItemKind;
  readonly effective: string;
  readonly source: string;
  readonly states: readonly string[];
  /** What is different in its directory: `changed PATH`, `added PATH`, `removed PATH`, `mode of PATH`. */
  readonly files: readonly string[];
}

const MODIFIED = 'locally modified';
const CHANGES = ['missing', MODIFIED, 'broken link'] as const;

/** Returns what to do about differences; local changes come first, since `--frozen` does not overwrite them. */
export function adviseOn(differences: readonly Pick<Difference, 'kind' | 'effective' | 'states'>[]): string {
  const advice = differences.map(({ kind, effective, states }) => {
    const change = CHANGES.find((state) => states.includes(state));
    const [, hint] = change === undefined ? [] : ADVICE[change];
    const name = differences.length === 1 ? `${kind}:${effective}` : 'NAME';
    return hint?.(name) ?? 'wield install --frozen --yes installs exactly what the lock has';
  });
  return [...new Set(advice)].join('; ');
}

/** Compares installed files with their record, and with the lock if it exists; names every difference (INS-30). */
export function findDifferences({ paths, world }: InstallEnvironment, lockFile: string): readonly Difference[] {
  const { items } = loadInstalled(paths);
  const records = new Map(loadSources(paths).map((record) => [record.id, record]));
  const locked = isOccupied(lockFile) ? readLock(lockFile) : [];
  // A lock describes its own sources completely, and says nothing about others.
  const expected = lockedByKey(locked);
  const lockedSources = new Map(locked.map((source) => [source.id, source]));
  const stateOfSource = (id: string): string[] => {
    const [record, source] = [records.get(id), lockedSources.get(id)];
    if (record === undefined || source === undefined) return [];
    return [
      ...(record.location === source.location ? [] : ['the lock has another location']),
      ...(record.signer?.key === source.signer?.key ? [] : ['the lock has another signer']),
    ];
  };
  const compare = (item: InstalledItem): Difference => {
    const { kind, effective, source } = item;
    const directory = join(paths.objects, item.object);
    const states: string[] = compareFiles(item, paths).filter((state) => CHANGES.some((one) => one === state));
    const files = existsSync(directory) ? nameChanges(item, directory, states.includes(MODIFIED)) : [];
    if (files.length > 0 && !states.includes(MODIFIED)) states.push(MODIFIED);
    const own = expected.get(itemKey(item));
    if (own !== undefined) states.push(...compareLocked(own, item, paths, world.home), ...stateOfSource(source));
    else if (lockedSources.has(source)) states.push('installed, but not in the lock');
    return { kind, effective, source, states, files };
  };
  const installed = new Set(items.map(itemKey));
  const absent = locked.flatMap(({ id, items: own }) =>
    own
      .filter((item) => !installed.has(itemKey({ ...item, source: id })))
      .map(({ kind, effective }) => {
        const states = ['in the lock, but not installed', ...stateOfSource(id)];
        return { kind, effective, source: id, states, files: [] };
      }),
  );
  return [...items.map(compare), ...absent].filter(({ states }) => states.length > 0);
}

function compareLocked(
  locked: LockedItem,
  item: InstalledItem,
  { objects, store }: InstallPaths,
  home: string | undefined,
): string[] {
  const states: string[] = [];
  if (locked.effective !== item.effective) states.push(`named ${locked.effective} in the lock`);
  if (locked.commit !== item.commit) states.push('the lock has another commit');
  if (locked.sourceHash !== item.sourceHash) states.push('the lock has another source hash');
  const object = join(objects, item.object);
  if (locked.installedHash !== item.portable.installed) states.push('the lock has another installed hash');
  if (
    existsSync(object) &&
    orNothing(() => portableHash(object, { store, home })) !== (locked.builtHash ?? locked.installedHash)
  )
    states.push('the files differ from the lock');
  return states;
}
