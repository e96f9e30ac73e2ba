// Why an item of mind cannot be taken over: files of the user, local changes, names that are in use.

import { join } from 'node:path';
import { isToolError } from '../../core/error.js';
import { statOrNothing } from '../../files/read.js';
import { listTree, readTreeFile } from '../../files/tree.js';
import { isForeign } from '../apply/changes.js';
import { isModified } from '../apply/objects.js';
import { linkKey } from '../directory.js';
import type { Inventory } from '../inventory.js';
import { type PlannedItem, planItems } from '../plan/plan-items.js';
import type { AvailableItem } from '../sources/load.js';
import { expandFile, isNamed, readItemFile, rootOf } from '../tokens/source-form.js';
import type { MindItem, MindState } from './state.js';

interface ImportContext {
  readonly inventory: Inventory;
  readonly state: MindState;
  /** Keys of the items that have links and store paths; those of the item are added if nothing is in its way. */
  readonly owners: Map<string, string>;
  readonly mindItems: ReadonlyMap<string, MindItem>;
  /** The links of mind. */
  readonly links: ReadonlySet<string>;
}

/** Returns the first reason against an item or anything that it refers to. */
export function findObstacle(
  wanted: AvailableItem,
  { inventory, state, owners, mindItems, links }: ImportContext,
): string | undefined {
  const { paths } = inventory.environment;
  try {
    const items = planItems([wanted], inventory).filter(({ change }) => change !== 'unchanged');
    for (const one of items) {
      const { key, existing, store } = one;
      const of = mindItems.get(key);
      const keys = one.links.map(({ path }) => linkKey(path));
      const used = [store, ...keys].find((path) => (owners.get(path) ?? key) !== key);
      if (used !== undefined) return `another item is ${used}`;
      const file = one.links.find(({ path }, at) => isForeign(path, paths) && !links.has(keys[at]!));
      if (file !== undefined) return `${file.path} is in the way; move it, then import again`;
      if (existing !== undefined && isModified(existing, paths)) return `${existing.store} was modified locally`;
      if (of !== undefined && isEdited(one, of, state, inventory))
        return `${storeOf(of, state)} differs from its source; update or revert it in mind, then import again`;
    }
    for (const { key, store, links: own } of items)
      for (const path of [store, ...own.map((link) => linkKey(link.path))]) owners.set(path, key);
    return undefined;
  } catch (error) {
    if (!isToolError(error)) throw error;
    return error.message;
  }
}

function storeOf({ kind, name }: MindItem, { home }: MindState): string {
  return join(home, 'store', kind, name);
}

// Renders the item as mind does, and compares it with its store. Hooks may have created further files.
function isEdited(planned: PlannedItem, of: MindItem, state: MindState, { environment }: Inventory): boolean {
  const { item, source, form } = planned;
  const { home } = environment.world;
  const stored = storeOf(of, state);
  const stats = statOrNothing(stored);
  if (stats === undefined) return false;
  const store = join(state.home, 'store');
  // A path of the store is written with `~` or absolute.
  const toText = (data: Buffer | string): string => {
    const text = Buffer.from(data).toString('latin1');
    const path = Buffer.from(store).toString('latin1');
    return home === undefined || !store.startsWith(`${home}/`)
      ? text
      : text.replaceAll(`~${path.slice(Buffer.byteLength(home))}`, path);
  };
  const files = stats.isFile() ? [] : listTree(stored).map(({ path }) => path);
  const own = new Map(files.map((path) => [path, toText(readTreeFile(stored, path))]));
  if (stats.isFile()) own.set('', toText(readTreeFile(stored, '')));
  const root = rootOf(item, source.tree);
  // For mind, a plugin has the same tokens as any source, and its prefix is the one that mind gave.
  const prefix = of.name === of.bareName ? null : of.name.slice(0, -of.bareName.length - 1);
  const loaded = { ...source, siblingsOf: () => ({ ...source.siblingsOf(item), prefix }) };
  const fresh = form.all
    .filter(({ path }) => !isNamed(path))
    .map(({ path, from = path }): [string, string] => {
      const bytes = readItemFile(item, root, from);
      return [path, toText(expandFile({ ...item, plugin: null }, path, bytes, loaded, { store, home }))];
    });
  if (item.file) return own.size !== 1 || ![...own.values()].includes(fresh[0]![1]);
  const isBuilt = item.build !== null || item.install !== null || source.record.hooks !== 'none';
  return fresh.some(([path, text]) => own.get(path) !== text) || (!isBuilt && own.size !== fresh.length);
}
