// Searches the items of sources that are not installed.

import { type ReadableToolbox, toReadOnlyEnvironment } from './from-toolbox.js';
import { listAvailable, loadInventory } from './inventory.js';

export interface FoundItem {
  readonly effective: string;
  readonly kind: string;
  readonly source: string;
  readonly description: string | null;
}

/** Ranks items by matches of the query's words in name and description. */
export function searchAvailable(query: string, limit: number, toolbox: ReadableToolbox): FoundItem[] {
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
