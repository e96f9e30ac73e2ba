// Compares installed items with their sources and with the files on disk.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError } from '../core/error.js';
import { linkTarget } from './apply/changes.js';
import { isModified } from './apply/objects.js';
import { readLink } from './directory.js';
import type { InstallPaths } from './environment.js';
import type { Inventory } from './inventory.js';
import type { InstalledItem } from './manifest/installed.js';
import { itemKey } from './manifest/item-name.js';
import { isRebuilt, type PlannedItem } from './plan/change-of.js';
import { planItems } from './plan/plan-items.js';
import { findAvailable } from './plan/plans.js';
import { availableKey } from './sources/load.js';

export type ItemState =
  | 'clean'
  | 'upstream changed'
  | 'locally modified'
  | 'missing'
  | 'broken link'
  | 'renamed'
  | 'pending'
  | 'gone upstream'
  | 'unbuilt'
  | 'bad reference';

export interface ItemStatus {
  readonly item: InstalledItem;
  /** `clean` alone, or every other state that applies. */
  readonly states: readonly ItemState[];
  /** The new effective name of a renamed item. */
  readonly renamedTo?: string;
}

/** Returns the state of every installed item without fetching anything (INS-26). */
export function readStatus(inventory: Inventory): ItemStatus[] {
  const planned = planAll(inventory);
  return inventory.installed.items.map((item) => {
    const upstream = compareUpstream(item, planned);
    const states = [...checkFiles(item, inventory.environment.paths), ...upstream.states];
    return { item, states: states.length === 0 ? ['clean'] : states, renamedTo: upstream.renamedTo };
  });
}

/** Checks the files and links of an installed item. */
export function checkFiles(item: InstalledItem, paths: InstallPaths): ItemState[] {
  const object = join(paths.objects, item.object);
  if (!existsSync(object) || readLink(item.store) !== object) return ['missing'];
  const states: ItemState[] = [];
  if (isModified(item, paths)) states.push('locally modified');
  if (item.links.some((link) => readLink(link) !== linkTarget(item))) states.push('broken link');
  if (item.build === 'skipped') states.push('unbuilt');
  return states;
}

type PlannedOrFault = ReadonlyMap<string, PlannedItem | ItemState>;

// Plans all items at once; if that fails, each on its own to find the faulty ones.
function planAll(inventory: Inventory): PlannedOrFault {
  const available = inventory.installed.items.flatMap((item) => findAvailable(item, inventory) ?? []);
  try {
    return new Map(planItems(available, inventory).map((one) => [one.key, one]));
  } catch (error) {
    if (!isToolError(error)) throw error;
  }
  return new Map(
    available.map((one): [string, PlannedItem | ItemState] => {
      const key = availableKey(one);
      try {
        return [key, planItems([one], inventory).find((planned) => planned.key === key)!];
      } catch (error) {
        if (!isToolError(error)) throw error;
        return [key, error.code === 'bad_reference' ? 'bad reference' : 'upstream changed'];
      }
    }),
  );
}

function compareUpstream(item: InstalledItem, all: PlannedOrFault): Omit<ItemStatus, 'item'> {
  const planned = all.get(itemKey(item));
  if (planned === undefined) return { states: ['gone upstream'] };
  if (typeof planned === 'string') return { states: [planned] };
  if (planned.change === 'rename') return { states: ['renamed'], renamedTo: planned.effective };
  if (planned.change === 'pending') return { states: ['pending'] };
  const changed = planned.form.hash !== item.sourceHash || planned.item.bin !== item.bin || isRebuilt(item, planned);
  return { states: changed ? ['upstream changed'] : [] };
}
