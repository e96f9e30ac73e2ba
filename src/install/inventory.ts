// Inventory: registered sources and installed items, loaded once per command.

import { ToolError } from '../core/error.js';
import type { InstallEnvironment } from './environment.js';
import { type ItemKind, itemKey } from './manifest/item-name.js';
import {
  type AvailableItem,
  availableKey,
  availableName,
  type LoadedSource,
  listItems,
  loadSourceTrees,
} from './sources/load.js';
import { loadInstalled, loadSources } from './state.js';
import type { Rendering } from './tokens/targets.js';
import { type ReadableToolbox, toReadOnlyEnvironment } from './toolbox-environment.js';

export type Inventory = Readonly<ReturnType<typeof loadInventory>>;

export function loadInventory(environment: InstallEnvironment) {
  const { paths, world } = environment;
  const rendering: Rendering = { store: paths.store, home: world.home };
  const sources: readonly LoadedSource[] = loadSourceTrees(loadSources(paths), environment);
  return { environment, sources, installed: loadInstalled(paths), rendering };
}

export interface ListedItem extends AvailableItem {
  readonly effective: string;
  readonly installed: boolean;
}

/** Lists every item of every source. */
export function listAvailable({ sources, installed }: Inventory): ListedItem[] {
  const installedKeys = new Set(installed.items.map(itemKey));
  return listItems(sources).map((available) => ({
    ...available,
    effective: availableName(available),
    installed: installedKeys.has(availableKey(available)),
  }));
}

/** Throws `not_found` if no source is registered. */
export function assertSources({ sources }: Inventory): void {
  if (sources.length > 0) return;
  throw new ToolError('not_found', 'no source is registered', { hint: 'add one: wield add owner/repo' });
}

export interface FoundItem {
  readonly effective: string;
  readonly kind: ItemKind;
  readonly source: string;
  readonly description: string | null;
}

/** Ranks installed items, and those of the sources, by matches of the query's words; no words match everything. */
export function searchItems(
  query: string,
  limit: number,
  toolbox: ReadableToolbox,
): { readonly installed: readonly FoundItem[]; readonly offers: readonly FoundItem[] } {
  const inventory = loadInventory(toReadOnlyEnvironment(toolbox));
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const offers = listAvailable(inventory)
    .filter(({ installed }) => !installed)
    .map(({ effective, item: { kind, description }, source }) => {
      return { effective, kind, source: source.record.id, description };
    });
  const installed = inventory.installed.items.map(({ effective, kind, source, description }) => {
    return { effective, kind, source, description };
  });
  return { installed: rank(installed, words, limit), offers: rank(offers, words, limit) };
}

function rank(items: readonly FoundItem[], words: readonly string[], limit: number): FoundItem[] {
  if (words.length === 0) return items.slice(0, limit);
  return items
    .map((found) => {
      const name = found.effective.toLowerCase();
      const text = (found.description ?? '').toLowerCase();
      const scoreOf = (word: string): number =>
        name === word ? 10 : name.includes(word) ? 3 : text.includes(word) ? 1 : 0;
      return { found, score: words.reduce((sum, word) => sum + scoreOf(word), 0) };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ found }) => found);
}
