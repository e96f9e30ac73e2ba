// A format whose reader is loaded when there is something to read.

import type { Format } from '../../core/format.js';
import type { Place } from '../../core/origin.js';

/** A reader; `settle` completes what it added to `pending`. */
export type DeferredReader = Pick<Format, 'read' | 'settle'>;

/** `isMine` says which claimed entries belong to the format; `load` returns its reader. */
export function deferReader(
  format: Omit<Format, 'read' | 'pending' | 'settle'>,
  isMine: (entry: string, place: Place) => boolean,
  load: (pending: Set<string>) => Promise<DeferredReader>,
): Format {
  let loaded: DeferredReader | undefined;
  // A set, and not a function: a call of any tool looks at its size.
  const pending = new Set<string>();
  return {
    ...format,
    read(entry, place, snapshot) {
      if (!isMine(entry, place)) return undefined;
      if (loaded !== undefined) return loaded.read(entry, place, snapshot);
      pending.add(entry);
      return { tools: [], problems: [], states: [undefined], pending: true };
    },
    pending,
    async settle(snapshot) {
      if (loaded !== undefined) return loaded.settle?.(snapshot);
      loaded = await load(pending);
      pending.clear();
    },
  };
}
