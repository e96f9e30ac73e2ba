// Notices changes in the lists of resources and prompts.

import type { Toolbox } from '../core/toolbox.js';
import { MODEL } from './listing.js';

export type OfferKind = 'resources' | 'prompts';

export interface OfferWatch {
  /** Calls the listener when the list of resources or of prompts has changed. */
  onChange(listener: (kind: OfferKind) => void): void;
  /** Begins to notice changes. */
  watch(): void;
  close(): void;
}

/** Watches the lists of resources and prompts from `watch` on; starts no server. */
export function watchOffers(toolbox: Toolbox): OfferWatch {
  const listeners: ((kind: OfferKind) => void)[] = [];
  const known: Record<OfferKind, string | undefined> = { resources: undefined, prompts: undefined };
  const read = async (kind: OfferKind): Promise<string> => {
    const options = { caller: MODEL, knownOnly: true };
    const all = await (kind === 'resources'
      ? toolbox.catalog.resources.list(options)
      : toolbox.catalog.prompts.list(options));
    return JSON.stringify(all.map(({ tool, fields }) => [tool.name, fields]));
  };
  const compare = async (kind: OfferKind): Promise<void> => {
    const now = await read(kind);
    const isChanged = known[kind] !== undefined && known[kind] !== now;
    known[kind] = now;
    if (isChanged) for (const listener of listeners) listener(kind);
  };
  let unwatch: (() => void) | undefined;
  return {
    onChange: (listener) => void listeners.push(listener),
    watch() {
      if (unwatch !== undefined) return;
      const compareAll = (): void => {
        for (const kind of ['resources', 'prompts'] as const) compare(kind).catch(() => {});
      };
      compareAll();
      unwatch = toolbox.catalog.watch(compareAll);
    },
    close: () => unwatch?.(),
  };
}
