// The index that a library ships in its directory of skills (RES-22).

import type { DirectoryState } from '../../catalog/entry.js';
import type { ToSchema } from '../../catalog/index-file.js';
import type { Format } from '../../core/format.js';
import type { Place } from '../../core/origin.js';
import type { World } from '../../core/snapshot.js';
import { loadShippedIndex } from './load.js';

export interface ShippedIndex {
  /** Returns what is known of a directory; undefined if it has no usable index. */
  load(place: Place, format: Format): DirectoryState | undefined;
  /** Writes the index of a directory. */
  write(
    directory: string,
    formats: readonly Format[],
  ): Promise<{ readonly file: string; readonly entries: number; readonly tools: number }>;
  remove(directory: string): Promise<{ readonly file: string; readonly removed: boolean }>;
}

/** `version` changes with the meaning of a field. */
export function createShippedIndex(options: {
  readonly version: string;
  readonly toSchema: ToSchema;
  readonly world: World;
}): ShippedIndex {
  return {
    load: (place, format) => loadShippedIndex({ ...options, place, format }),
    async write(directory, formats) {
      const { writeShippedIndex } = await import('./write.js');
      return writeShippedIndex({ ...options, directory, formats });
    },
    async remove(directory) {
      const { removeShippedIndex } = await import('./write.js');
      return removeShippedIndex(directory);
    },
  };
}
