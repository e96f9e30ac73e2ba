// Search as one types: items that contain every word, best names first.

import type { CatalogItem } from '../api.js';

export type KindFilter = CatalogItem['kind'] | 'all';

/** Returns the items of a kind that match a text; all in their order if it is empty. */
export function searchItems(items: readonly CatalogItem[], text: string, kind: KindFilter): readonly CatalogItem[] {
  const ofKind = kind === 'all' ? items : items.filter((item) => item.kind === kind);
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return ofKind;
  return ofKind
    .map((item, index) => ({ item, index, score: scoreOf(item, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .map(({ item }) => item);
}

function scoreOf(item: CatalogItem, words: readonly string[]): number {
  const name = item.name.toLowerCase();
  const rest = [
    item.title,
    item.description,
    item.state,
    item.server,
    item.source,
    item.group,
    ...item.tags,
    ...item.marks,
  ]
    .join('\n')
    .toLowerCase();
  let score = 0;
  for (const word of words) {
    if (name === word) score += 100;
    else if (name.startsWith(word)) score += 20;
    else if (name.includes(word)) score += 10;
    else if (rest.includes(word)) score += 1;
    else return 0;
  }
  return score;
}
