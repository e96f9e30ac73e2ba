// A format whose reader is loaded when there is something to read.

import type { Format, Place } from '../../core/format.js';

type Read = Format['read'];

/** `isMine` says which claimed entries belong to the format; `load` returns its reader. */
export function deferReader(
  format: Omit<Format, 'read' | 'pending' | 'settle'>,
  isMine: (entry: string, place: Place) => boolean,
  load: () => Promise<Read>,
): Format {
  let loaded: Read | undefined;
  const pending = new Set<string>();
  return {
    ...format,
    read(entry, place, snapshot) {
      if (!isMine(entry, place)) return undefined;
      if (loaded !== undefined) return loaded(entry, place, snapshot);
      pending.add(entry);
      return { tools: [], problems: [], states: [undefined], pending: true };
    },
    pending,
    async settle() {
      loaded ??= await load();
      pending.clear();
    },
  };
}
