// Plans of the commands: install, upgrade, uninstall and remove-source.

import { ToolError } from '../../core/error.js';
import { isModified } from '../apply/objects.js';
import { listHooks } from '../hooks.js';
import type { Inventory } from '../inventory.js';
import { isByName, itemKey } from '../manifest/item-name.js';
import { type AvailableItem, listItems } from '../sources/load.js';
import type { Installed, InstalledItem } from '../state.js';
import { type PlannedItem, planItems, planMany, type RefusedItem } from './plan-items.js';
import { isGlobRef, selectAvailable, selectInstalled } from './select.js';

export type InstallPlan = ReturnType<typeof toPlan>;

export interface KeptItem {
  readonly item: InstalledItem;
  readonly why: 'gone upstream' | 'locally modified';
}

export interface SelectOptions {
  readonly refs: readonly string[];
  /** Ids of sources; empty for all. */
  readonly sources: readonly string[];
  readonly all: boolean;
  /** Installs the selected items again, although they did not change. */
  readonly force?: boolean;
}

export function planInstall({ refs, sources, all, force = false }: SelectOptions, inventory: Inventory): InstallPlan {
  const available = listItems(inventory.sources).filter(
    ({ source }) => sources.length === 0 || sources.includes(source.record.id),
  );
  const wanted = all ? available.filter(({ item }) => !isByName(item.kind)) : selectAvailable(refs, available);
  const many = all || wanted.length > refs.length || refs.some(isGlobRef);
  const { items, refused } = many ? planMany(wanted, inventory) : { items: planItems(wanted, inventory), refused: [] };
  const again = items.map((one) =>
    force && one.neededBy === null && one.change === 'unchanged' ? { ...one, change: 'update' as const } : one,
  );
  return toPlan({ items: again, refused }, inventory);
}

/** Plans the installation of given items; one that cannot be installed does not prevent the others. */
export function planAvailable(wanted: readonly AvailableItem[], inventory: Inventory): InstallPlan {
  return toPlan(planMany(wanted, inventory), inventory);
}

interface PlanParts {
  readonly items?: readonly PlannedItem[];
  readonly removed?: readonly InstalledItem[];
  readonly kept?: readonly KeptItem[];
  readonly refused?: readonly RefusedItem[];
}

/** Divides items into those that change and the others, and lists their hooks. */
export function toPlan({ items = [], removed = [], kept = [], refused = [] }: PlanParts, inventory: Inventory) {
  return {
    /** Items that change, dependencies first. */
    planned: items.filter(({ change }) => change !== 'unchanged'),
    unchanged: items.filter(({ change }) => change === 'unchanged'),
    removed,
    hooks: listHooks(items, removed, inventory),
    /** Installed items that an upgrade does not change. */
    kept,
    /** Items among many that cannot be installed; the others can. */
    refused,
  };
}

/** Finds the current version of an installed item in its source. */
export function findAvailable(installed: InstalledItem, { sources }: Inventory): AvailableItem | undefined {
  const { source: id, kind, name, plugin } = installed;
  const source = sources.find(({ record }) => record.id === id);
  const item = source?.scan.items.find((one) => one.kind === kind && one.name === name && one.plugin === plugin);
  return source === undefined || item === undefined ? undefined : { source, item };
}

/** Updates installed items to what their sources offer now; no names select all (INS-27). */
export function planUpgrade(refs: readonly string[], force: boolean, inventory: Inventory): InstallPlan {
  const { installed, environment } = inventory;
  const chosen = refs.length === 0 ? installed.items : selectInstalled(refs, installed);
  const kept: KeptItem[] = [];
  const removed: InstalledItem[] = [];
  const wanted = chosen.flatMap((item) => {
    const available = findAvailable(item, inventory);
    if (available === undefined && isGoneFromPlugin(item, inventory)) removed.push(item);
    else if (available === undefined) kept.push({ item, why: 'gone upstream' });
    return available ?? [];
  });
  // Locally modified items stay as they are; the others are upgraded.
  const { items: planned, refused } =
    refs.length === 0 ? planMany(wanted, inventory) : { items: planItems(wanted, inventory), refused: [] };
  const items = planned.filter(({ existing, change }) => {
    if (force || existing === undefined || change === 'unchanged') return true;
    if (!isModified(existing, environment.paths)) return true;
    kept.push({ item: existing, why: 'locally modified' });
    return false;
  });
  return toPlan({ items, kept, refused, removed: withUnused(removed, items, inventory) }, inventory);
}

// INS-64: a plugin is upgraded as a whole, so that it keeps no server or command that it does not have any more.
function isGoneFromPlugin(item: InstalledItem, { sources, environment }: Inventory): boolean {
  const isLoaded = sources.some(({ record }) => record.id === item.source);
  return item.plugin !== null && isLoaded && !isModified(item, environment.paths);
}

// Adds the directories of plugins that no item refers to any more.
function withUnused(
  removed: readonly InstalledItem[],
  planned: readonly PlannedItem[],
  { installed }: Inventory,
): InstalledItem[] {
  const changed = new Map(planned.map(({ key, form }) => [key, form.references]));
  const isRemoved = new Set(removed.map(itemKey));
  const used = new Set(
    installed.items
      .filter((item) => !isRemoved.has(itemKey(item)))
      .flatMap((item) => (changed.get(itemKey(item)) ?? item.references).map((one) => itemKey({ ...item, ...one }))),
  );
  for (const { source, item, form } of planned)
    for (const one of form.references) used.add(itemKey({ source: source.record.id, plugin: item.plugin, ...one }));
  const unused = installed.items.filter((item) => item.kind === 'plugin' && !used.has(itemKey(item)));
  return [...new Set([...removed, ...unused])];
}

export function planUninstall(refs: readonly string[], inventory: Inventory): InstallPlan {
  const removed = [...new Set(selectInstalled(refs, inventory.installed))];
  return toPlan({ removed: withUnused(removed, [], inventory) }, inventory);
}

/** Plans the removal of everything that was installed from some sources. */
export function planRemoval(sources: readonly string[], inventory: Inventory): InstallPlan {
  const removed = inventory.installed.items.filter(({ source }) => sources.includes(source));
  return toPlan({ removed }, inventory);
}

/** Returns the items that stay installed and refer to removed ones (INS-28). */
export function findDependents(removed: readonly InstalledItem[], { items }: Installed): InstalledItem[] {
  const removedKeys = new Set(removed.map(itemKey));
  return items.filter(
    (item) =>
      !removedKeys.has(itemKey(item)) &&
      item.references.some(({ kind, name }) => removedKeys.has(itemKey({ ...item, kind, name }))),
  );
}

export function neededError(removed: readonly InstalledItem[], dependents: readonly InstalledItem[]): ToolError {
  const names = dependents.map(nameOf);
  return new ToolError('conflict', `${removed.map(nameOf).join(', ')} is needed by ${names.join(', ')}`, {
    hint: 'uninstall those first, or pass force to leave them without it',
    data: { dependents: names },
  });
}

/** Returns kind and effective name, such as `tool acme:count`. */
export function nameOf({ kind, effective }: InstalledItem): string {
  return `${kind} ${effective}`;
}
