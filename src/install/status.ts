// Compares installed items with their sources and with the files on disk.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import { linkTarget } from './apply/changes.js';
import { isInterrupted } from './apply/journal.js';
import { isModified } from './apply/objects.js';
import { readLink } from './directory.js';
import { type InstallPaths, pathsOf, type ReadableToolbox, toReadOnlyEnvironment } from './environment.js';
import { type Inventory, loadInventory } from './inventory.js';
import type { InstalledItem } from './manifest/installed.js';
import { itemKey } from './manifest/item-name.js';
import { isRebuilt, type PlannedItem, planItems } from './plan/plan-items.js';
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

type Advice = readonly [message: string, hint: (name: string) => string];

const ADVICE: Readonly<Record<Exclude<ItemState, 'clean'>, Advice>> = {
  'upstream changed': ['changed in its source', () => 'wield upgrade --dry-run shows the changes'],
  'locally modified': [
    'was modified locally',
    (name) => `wield install ${name} --accept keeps the changes, --force discards them`,
  ],
  missing: ['is missing from the store', () => 'wield doctor --fix restores it'],
  'broken link': ['has a missing or changed link', () => 'wield doctor --fix links it again'],
  renamed: ['was renamed in its source', () => 'wield upgrade renames it'],
  pending: ['refers to an item that changed', () => 'wield upgrade updates it'],
  'gone upstream': ['is no longer in its source', (name) => `wield uninstall ${name} removes it`],
  unbuilt: ['is not built: its build hook was skipped', (name) => `wield install ${name} --run-hooks builds it`],
  'bad reference': [
    'refers to an item that does not exist in its source',
    () => 'report it to the author of the source',
  ],
};

/** Returns everything that is not clean (INS-26). */
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
      report: ({ text }) => add(paths.sources, text, 'fix the source, or remove it with wield remove-source'),
    });
    for (const { item, states, renamedTo } of readStatus(loadInventory(environment))) {
      for (const state of states) {
        if (state === 'clean') continue;
        const [message, hint] = ADVICE[state];
        const to = renamedTo === undefined ? '' : `: ${item.effective} → ${renamedTo}`;
        const name = `${item.kind}:${item.effective}`;
        add(item.store, `the ${item.kind} ${item.effective} ${message}${to}`, hint(name));
      }
    }
  } catch (error) {
    if (!isToolError(error)) throw error;
    add(paths.installedFile, error.message, error.hint ?? '');
  }
  return problems;
}
