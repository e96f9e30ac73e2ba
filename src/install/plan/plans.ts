// The life of items: installed with what they need, upgraded, accepted as they are, uninstalled.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { hashTree } from '../../files/tree.js';
import { type AppliedItem, applyPlan, hooksOf, isModified, previewPlan } from '../apply/apply.js';
import type { Hook } from '../apply/hooks.js';
import type { InstallContext, Paths } from '../environment.js';
import type { Installed, InstalledItem } from '../manifest/installed.js';
import { effectiveName } from '../manifest/item-name.js';
import { type LoadedSource, loadSourceTrees } from '../sources/load.js';
import { loadInstalled, loadSources, saveInstalled } from '../state.js';
import type { Rendering } from '../tokens/targets.js';
import {
  allOffers,
  keyOf,
  type Offer,
  type PlannedItem,
  planItems,
  selectInstalled,
  selectOffers,
} from './plan-items.js';

/** Everything that there is, loaded once for a command. */
export interface Inventory {
  readonly paths: Paths;
  readonly context: InstallContext;
  readonly sources: readonly LoadedSource[];
  readonly installed: Installed;
  readonly rendering: Rendering;
}

export function loadInventory(context: InstallContext, paths: Paths): Inventory {
  return {
    paths,
    context,
    sources: loadSourceTrees(loadSources(paths), { paths, report: context.report }),
    installed: loadInstalled(paths),
    rendering: { store: paths.store, home: context.world.home },
  };
}

/** What a command would do, before anybody is asked. */
export interface InstallPlan {
  /** In order, dependencies first; those that are unchanged left out. */
  readonly planned: readonly PlannedItem[];
  readonly unchanged: readonly PlannedItem[];
  readonly removed: readonly InstalledItem[];
  readonly hooks: readonly Hook[];
  /** Installed items that an upgrade leaves alone, and why. */
  readonly kept: readonly {
    readonly item: InstalledItem;
    readonly why: 'gone upstream' | 'locally modified';
  }[];
}

export interface SelectOptions {
  readonly refs: readonly string[];
  /** Ids of sources; none: all. */
  readonly sources: readonly string[];
  readonly all: boolean;
}

export function planInstall({ refs, sources, all }: SelectOptions, inventory: Inventory): InstallPlan {
  const offers = allOffers(inventory.sources).filter(
    ({ source }) => sources.length === 0 || sources.includes(source.record.id),
  );
  return planOffers(all ? offers : selectOffers(refs, offers), inventory);
}

function planOffers(wanted: readonly Offer[], inventory: Inventory): InstallPlan {
  const { paths, context, rendering, installed } = inventory;
  const all = planItems(wanted, { paths, homes: context.homes, rendering, installed });
  return toPlan(all, [], inventory);
}

function toPlan(
  all: readonly PlannedItem[],
  kept: InstallPlan['kept'],
  { sources }: Inventory,
  removed: readonly InstalledItem[] = [],
): InstallPlan {
  const planned = all.filter(({ change }) => change !== 'unchanged');
  return {
    planned,
    unchanged: all.filter(({ change }) => change === 'unchanged'),
    removed,
    hooks: hooksOf(planned, removed, locationsOf(sources)),
    kept,
  };
}

/** What upgrading would do: everything installed is brought to what its source offers now (INS-27). */
export function planUpgrade(refs: readonly string[], force: boolean, inventory: Inventory): InstallPlan {
  const { installed, sources, paths, context, rendering } = inventory;
  const chosen = refs.length === 0 ? installed.items : selectInstalled(refs, installed);
  const kept: { item: InstalledItem; why: 'gone upstream' | 'locally modified' }[] = [];
  const wanted = chosen.flatMap((item): Offer[] => {
    const source = sources.find(({ record }) => record.id === item.source);
    const offered = source?.scan.items.find(({ kind, name }) => kind === item.kind && name === item.name);
    if (source !== undefined && offered !== undefined) return [{ source, item: offered }];
    kept.push({ item, why: 'gone upstream' });
    return [];
  });
  const all = planItems(wanted, { paths, homes: context.homes, rendering, installed });
  // What was edited stays as it is, and is named; the rest goes on.
  const allowed = all.filter(({ existing, change }) => {
    if (force || existing === undefined || change === 'unchanged' || !isModified(existing, paths))
      return true;
    kept.push({ item: existing, why: 'locally modified' });
    return false;
  });
  return toPlan(allowed, kept, inventory);
}

export function planUninstall(refs: readonly string[], inventory: Inventory): InstallPlan {
  const removed = [...new Set(selectInstalled(refs, inventory.installed))];
  return toPlan([], [], inventory, removed);
}

/** The same for everything that came from a source. */
export function planRemoval(sources: readonly string[], inventory: Inventory): InstallPlan {
  const removed = inventory.installed.items.filter(({ source }) => sources.includes(source));
  return toPlan([], [], inventory, removed);
}

/** Installed items that refer to others which are to go, and stay themselves (INS-28). */
export function findDependents(removed: readonly InstalledItem[], { items }: Installed): InstalledItem[] {
  const going = new Set(removed.map(({ source, kind, name }) => keyOf(source, kind, name)));
  return items.filter(
    ({ source, kind, name, references }) =>
      !going.has(keyOf(source, kind, name)) &&
      references.some((reference) => going.has(keyOf(source, reference.kind, reference.name))),
  );
}

/** Why items are not removed that others refer to; `how` does it all the same. */
export function neededError(
  removed: readonly InstalledItem[],
  dependents: readonly InstalledItem[],
  how: string,
): ToolError {
  const names = dependents.map(nameOf);
  return new ToolError('conflict', `${removed.map(nameOf).join(', ')} is needed by ${names.join(', ')}`, {
    hint: `uninstall those first, or ${how}, which leaves them without it`,
    data: { dependents: names },
  });
}

/** `tool acme:count`. */
export function nameOf({ kind, effective }: InstalledItem): string {
  return `${kind} ${effective}`;
}

export function preview({ planned }: InstallPlan, inventory: Inventory): AppliedItem[] {
  return previewPlan({ ...inventory, planned });
}

export async function carryOut(
  { planned, removed }: InstallPlan,
  force: boolean,
  inventory: Inventory,
): Promise<readonly AppliedItem[]> {
  if (planned.length === 0 && removed.length === 0) return [];
  return applyPlan({ ...inventory, planned, removed, force }, locationsOf(inventory.sources));
}

/** Takes the bytes of an installed item as they are now for those that were installed (INS-23). */
export function acceptItem(ref: string, { paths, installed }: Inventory): InstalledItem {
  const [item] = selectInstalled([ref], installed);
  const accepted = { ...item!, installedHash: hashTree(join(paths.objects, item!.object)) };
  saveInstalled(paths, {
    ...installed,
    items: installed.items.map((one) => (one === item ? accepted : one)),
  });
  return accepted;
}

/** Every item of every source, with what is installed of it. */
export function listOffers({ sources, installed }: Inventory): (Offer & {
  readonly effective: string;
  readonly installed: boolean;
})[] {
  const there = new Set(installed.items.map(({ source, kind, name }) => keyOf(source, kind, name)));
  return allOffers(sources).map((offer) => ({
    ...offer,
    effective: effectiveName(offer.source.prefix, offer.item.name),
    installed: there.has(keyOf(offer.source.record.id, offer.item.kind, offer.item.name)),
  }));
}

function locationsOf(sources: readonly LoadedSource[]): Map<string, string> {
  return new Map(sources.map(({ record }) => [record.id, record.location]));
}

/** Throws where there is nothing to choose from. */
export function assertSources({ sources }: Inventory): void {
  if (sources.length > 0) return;
  throw new ToolError('not_found', 'no source is registered', { hint: 'add one: wield add owner/repo' });
}
