// Lists the hooks that a plan would run, each bound to the bytes it runs on.

import { join } from 'node:path';
import { digestParts } from '../../files/digest.js';
import { hashTree } from '../../files/tree.js';
import { isOccupied } from '../directory.js';
import type { Hook } from '../environment.js';
import { toHook } from '../hooks.js';
import type { Inventory } from '../inventory.js';
import { itemKey } from '../manifest/item-name.js';
import type { InstalledItem } from '../state.js';
import type { PlannedItem } from './plan-items.js';

export function listHooks(
  items: readonly PlannedItem[],
  removed: readonly InstalledItem[],
  inventory: Inventory,
): Hook[] {
  const byKey = new Map(items.map((one) => [one.key, one]));
  const hooks = items.flatMap((one) => {
    const { item, source, effective, store, change } = one;
    if (change === 'unchanged' || (item.build === null && item.install === null)) return [];
    const { id, commit, location } = source.record;
    const bytes = contentOf(one, byKey);
    const create = (event: Hook['event'], run: string | null, where: string): Hook[] => {
      const facts = { source: id, commit, item: effective, kind: item.kind, event, where };
      return run === null ? [] : [toHook({ ...facts, run }, location, bytes)];
    };
    return [...create('build', item.build, 'a staging directory'), ...create('install', item.install, store)];
  });
  return [...hooks, ...removed.flatMap((item) => uninstallHook(item, inventory) ?? [])];
}

// The hash of an item and of everything it refers to, which its hooks can execute (HOOK-6).
function contentOf(one: PlannedItem, byKey: ReadonlyMap<string, PlannedItem>): string {
  const hashes = new Map<string, string>();
  const left = [one];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (hashes.has(next.key)) continue;
    const { key, form, source, item } = next;
    hashes.set(key, form.contentHash);
    left.push(
      ...form.references.flatMap(
        ({ kind, name }) => byKey.get(itemKey({ source: source.record.id, plugin: item.plugin, kind, name })) ?? [],
      ),
    );
  }
  return digestParts([...hashes].sort().flat());
}

/** Returns the uninstall hook of an item, bound to its files as they are now. */
export function uninstallHook(item: InstalledItem, inventory: Inventory): Hook | undefined {
  const { hooks, source, commit, effective, kind, store, object } = item;
  if (hooks.uninstall === null) return undefined;
  const facts = { source, commit, item: effective, kind, event: 'uninstall' as const, where: store };
  const location = inventory.sources.find(({ record }) => record.id === source)?.record.location ?? source;
  const path = join(inventory.environment.paths.objects, object);
  const bytes = isOccupied(path) ? hashTree(path) : 'missing';
  return toHook({ ...facts, run: hooks.uninstall }, location, bytes);
}
