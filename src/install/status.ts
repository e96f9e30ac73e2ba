// How installed items stand to their sources and to the disk: clean, changed there, changed here, missing, renamed.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError } from '../core/error.js';
import { isModified } from './apply/apply.js';
import { readLink } from './apply/links.js';
import type { InstalledItem } from './manifest/installed.js';
import { keyOf, type Offer, type PlannedItem, planItems } from './plan/plan-items.js';
import type { Inventory } from './plan/plans.js';

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
  /** Everything that is to be said about it; `clean` alone where there is nothing. */
  readonly states: readonly ItemState[];
  /** What it would be called now, where that is another name. */
  readonly renamedTo?: string;
}

/** The state of every installed item (INS-26); nothing is fetched. */
export function readStatus(inventory: Inventory): ItemStatus[] {
  const planned = planAll(inventory);
  return inventory.installed.items.map((item) => {
    const upstream = compareUpstream(item, planned);
    const states = [...lookAtDisk(item, inventory), ...upstream.states];
    return {
      item,
      states: states.length === 0 ? ['clean'] : states,
      ...(upstream.renamedTo === undefined ? {} : { renamedTo: upstream.renamedTo }),
    };
  });
}

/** What is on disk, without a look at sources. */
export function lookAtDisk(item: InstalledItem, { paths }: Pick<Inventory, 'paths'>): ItemState[] {
  const object = join(paths.objects, item.object);
  if (!existsSync(object) || readLink(item.store) !== object) return ['missing'];
  const broken = item.links.some((link) => !(readLink(link) ?? '').startsWith(item.store));
  return [
    ...(isModified(item, paths) ? (['locally modified'] as const) : []),
    ...(broken ? (['broken link'] as const) : []),
    ...(item.build === 'skipped' ? (['unbuilt'] as const) : []),
  ];
}

type Planned = ReadonlyMap<string, PlannedItem | ItemState>;

// All at once; where one of them is at fault, each on its own.
function planAll({ sources, installed, paths, context, rendering }: Inventory): Planned {
  const offers = installed.items.flatMap(({ source: id, kind, name }): Offer[] => {
    const source = sources.find(({ record }) => record.id === id);
    const item = source?.scan.items.find((one) => one.kind === kind && one.name === name);
    return source === undefined || item === undefined ? [] : [{ source, item }];
  });
  const plan = (wanted: readonly Offer[]): PlannedItem[] =>
    planItems(wanted, { paths, homes: context.homes, rendering, installed });
  const planned = new Map<string, PlannedItem | ItemState>();
  try {
    for (const one of plan(offers)) planned.set(one.key, one);
  } catch (error) {
    if (!isToolError(error)) throw error;
    for (const offer of offers) {
      const key = keyOf(offer.source.record.id, offer.item.kind, offer.item.name);
      try {
        planned.set(key, plan([offer]).find((one) => one.key === key)!);
      } catch (own) {
        if (!isToolError(own)) throw own;
        planned.set(key, own.code === 'bad_reference' ? 'bad reference' : 'upstream changed');
      }
    }
  }
  return planned;
}

function compareUpstream(
  item: InstalledItem,
  all: Planned,
): { readonly states: readonly ItemState[]; readonly renamedTo?: string } {
  const planned = all.get(keyOf(item.source, item.kind, item.name));
  if (planned === undefined) return { states: ['gone upstream'] };
  if (typeof planned === 'string') return { states: [planned] };
  if (planned.change === 'rename') return { states: ['renamed'], renamedTo: planned.effective };
  if (planned.change === 'pending') return { states: ['pending'] };
  const changed = planned.form.hash !== item.sourceHash || planned.item.bin !== item.bin;
  return { states: changed ? ['upstream changed'] : [] };
}
