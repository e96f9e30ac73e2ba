// Inventory: registered sources and installed items, loaded once per command.

import { ToolError } from '../core/error.js';
import { type InstallEnvironment, type ReadableToolbox, toReadOnlyEnvironment } from './environment.js';
import type { Installed } from './manifest/installed.js';
import { itemKey } from './manifest/item-name.js';
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

export interface Inventory {
  readonly environment: InstallEnvironment;
  readonly sources: readonly LoadedSource[];
  readonly installed: Installed;
  readonly rendering: Rendering;
}

export function loadInventory(environment: InstallEnvironment): Inventory {
  const { paths, world } = environment;
  return {
    environment,
    sources: loadSourceTrees(loadSources(paths), environment),
    installed: loadInstalled(paths),
    rendering: { store: paths.store, home: world.home },
  };
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

/** Ranks items by matches of the query's words in name and description. */
export function searchAvailable(query: string, limit: number, toolbox: ReadableToolbox) {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return listAvailable(loadInventory(toReadOnlyEnvironment(toolbox)))
    .filter(({ installed }) => !installed)
    .map(({ effective, item: { kind, description }, source }) => {
      const name = effective.toLowerCase();
      const text = (description ?? '').toLowerCase();
      const scoreOf = (word: string): number =>
        name === word ? 10 : name.includes(word) ? 3 : text.includes(word) ? 1 : 0;
      const score = words.reduce((sum, word) => sum + scoreOf(word), 0);
      return { score, found: { effective, kind, source: source.record.id, description } };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ found }) => found);
}
