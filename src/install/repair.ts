// Repairs installed items: store paths, links and missing files (INS-40).

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { applyPlan } from './apply/apply.js';
import { asideOf, isForeign, linksOf } from './apply/changes.js';
import { commit, type StoreChange } from './apply/commit.js';
import { beginTransaction, endTransaction } from './apply/objects.js';
import { planInstalled } from './compare.js';
import { type Link, readLink } from './directory.js';
import type { InstallEnvironment, InstallPaths } from './environment.js';
import { type Inventory, loadInventory } from './inventory.js';
import { itemKey } from './manifest/item-name.js';
import type { PlannedItem } from './plan/plan-items.js';
import { findAvailable, type InstallPlan, planUpgrade, toPlan } from './plan/plans.js';
import { type InstalledItem, loadInstalled } from './state.js';

export interface Repair {
  readonly kind: string;
  readonly effective: string;
  /** `linked`: store path and links. `installed`: the files, from its source. */
  readonly done: 'linked' | 'installed';
  /** The links that were created. */
  readonly links: readonly string[];
  /** Files that were in the way of a link, and where they are now. */
  readonly aside: readonly { readonly path: string; readonly to: string }[];
}

/**
 * Restores the store path and the links of every installed item, in every agent home that is configured now, and
 * installs items again whose files are gone. Local changes stay; files in the way of a link are moved aside.
 */
export async function repairInstalled(environment: InstallEnvironment): Promise<readonly Repair[]> {
  const inventory = loadInventory(environment);
  const plan = planRestored(inventory);
  await applyPlan(plan, true, inventory);
  // What was restored is recorded, so that the links are read again.
  const relinked = findRelinked(loadInventory(environment));
  if (relinked.length > 0) await linkAgain(relinked, environment);
  return [...plan.planned.map(toRestored), ...relinked.map(toRelinked)];
}

/** Returns what `repairInstalled` would do. */
export function previewRepairs(environment: InstallEnvironment): readonly Repair[] {
  const inventory = loadInventory(environment);
  return [...planRestored(inventory).planned.map(toRestored), ...findRelinked(inventory).map(toRelinked)];
}

// Plans the items whose files are gone.
function planRestored(inventory: Inventory): InstallPlan {
  const { installed, environment } = inventory;
  const gone = installed.items.filter(
    (item) => !existsSync(join(environment.paths.objects, item.object)) && findAvailable(item, inventory) !== undefined,
  );
  const refs = gone.map(({ source, kind, effective }) => `${source}#${kind}:${effective}`);
  return refs.length === 0 ? toPlan({}, inventory) : planUpgrade(refs, true, inventory);
}

function toRestored({ item, effective, links }: PlannedItem): Repair {
  return { kind: item.kind, effective, done: 'installed', links: links.map(({ path }) => path), aside: [] };
}

interface Relinked {
  readonly item: InstalledItem;
  readonly links: readonly Link[];
  readonly change: StoreChange;
  readonly created: readonly string[];
}

function findRelinked(inventory: Inventory): Relinked[] {
  const { installed, environment } = inventory;
  const { paths } = environment;
  // The links as the source and the configuration have them now; the recorded ones if the item cannot be planned.
  const planned = planInstalled(inventory);
  const wantedLinks = (item: InstalledItem): readonly Link[] => {
    const now = planned.get(itemKey(item));
    return typeof now === 'object' && now.effective === item.effective ? now.links : linksOf(item);
  };
  return installed.items.flatMap((item) =>
    existsSync(join(paths.objects, item.object)) ? (relink(item, wantedLinks(item), paths) ?? []) : [],
  );
}

function toRelinked({ item: { kind, effective }, created, change: { aside } }: Relinked): Repair {
  return { kind, effective, done: 'linked', links: created, aside };
}

async function linkAgain(relinked: readonly Relinked[], environment: InstallEnvironment): Promise<void> {
  const { paths } = environment;
  const { items, made: before } = loadInstalled(paths);
  const transaction = beginTransaction(paths);
  try {
    const linksByKey = new Map(relinked.map(({ item, links }) => [itemKey(item), links.map(({ path }) => path)]));
    await commit({
      environment,
      transaction,
      changes: relinked.map(({ change }) => change),
      staged: [],
      pinned: [],
      next: (made) => ({
        items: items.map((item) => ({ ...item, links: linksByKey.get(itemKey(item)) ?? item.links })),
        made: [...new Set([...before, ...made])],
      }),
    });
  } finally {
    endTransaction(transaction, paths);
  }
}

// Undefined if everything is in place.
function relink(item: InstalledItem, links: readonly Link[], paths: InstallPaths): Relinked | undefined {
  const { store, object } = item;
  const created = links.filter(({ path, target }) => readLink(path) !== target).map(({ path }) => path);
  const stale = item.links.filter((path) => !links.some((link) => link.path === path));
  const storeIsRight = readLink(store) === join(paths.objects, object);
  if (storeIsRight && created.length === 0 && stale.length === 0) return undefined;
  const places = [...(storeIsRight ? [] : [store]), ...created];
  const change: StoreChange = {
    store,
    before: object,
    after: object,
    linksBefore: linksOf(item).filter(({ path, target }) => readLink(path) === target),
    linksAfter: links,
    aside: places.filter((path) => isInTheWay(path, store, paths)).map((path) => ({ path, to: asideOf(path) })),
  };
  return { item, links, change, created };
}

// A store path is a link to an object, so anything else there is in the way.
function isInTheWay(path: string, store: string, paths: InstallPaths): boolean {
  return path === store ? existsSync(path) && readLink(path) === undefined : isForeign(path, paths);
}
