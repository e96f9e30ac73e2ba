// Finds items that sources offer and that are not installed, by the words of a query.

import type { World } from '../core/world.js';
import { agentHomes, type InstallContext, pathsOf } from './environment.js';
import { listOffers, loadInventory } from './plan/plans.js';

export interface FoundOffer {
  readonly effective: string;
  readonly kind: string;
  readonly source: string;
  readonly description: string | null;
}

/** A look at the state without leave to change anything. */
export function lookingContext(
  options: Pick<InstallContext, 'wieldHome' | 'limits' | 'homes'> & { readonly world: World },
): InstallContext {
  const signal = new AbortController().signal;
  const homes = agentHomes(options.homes, options.world.home);
  return { ...options, homes, version: '', signal, report: () => {}, approveHooks: async () => false };
}

/** The offers that have most of the words in their name or description, best first. */
export function searchOffers(
  query: string,
  limit: number,
  options: Pick<InstallContext, 'wieldHome' | 'limits' | 'homes'> & { readonly world: World },
): FoundOffer[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const inventory = loadInventory(lookingContext(options), pathsOf(options.wieldHome));
  return listOffers(inventory)
    .filter(({ installed }) => !installed)
    .map(({ effective, item, source }) => {
      const name = effective.toLowerCase();
      const text = (item.description ?? '').toLowerCase();
      const score = words.reduce(
        (sum, word) => sum + (name === word ? 10 : name.includes(word) ? 3 : text.includes(word) ? 1 : 0),
        0,
      );
      return {
        score,
        offer: { effective, kind: item.kind, source: source.record.id, description: item.description },
      };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ offer }) => offer);
}
