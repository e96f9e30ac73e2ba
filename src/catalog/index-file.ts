// Index files: one per directory and format, so that listing a thousand tools parses no schema.

import { join, sep } from 'node:path';
import type { Format } from '../core/format.js';
import type { Place } from '../core/origin.js';
import type { World } from '../core/snapshot.js';
import { checksum, hashName } from '../files/checksum.js';
import { readHead } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
import type { DirectoryState } from './entry.js';
import { escapeField, formatIndex, parseIndex, type ToSchema } from './index-format.js';

export interface IndexFile {
  /** Returns the saved state of a place; undefined if there is none or it is not usable. */
  load(place: Place, format: Format): DirectoryState | undefined;
  save(place: Place, format: Format, state: DirectoryState): void;
  remove(place: Place, format: Format): void;
}

export interface IndexFileOptions {
  /** The directory of the index files. */
  readonly directory: string;
  /** Changes with the meaning of a line. */
  readonly version: string;
  readonly toSchema: ToSchema;
  /** Loads the index that a library ships in its own directory (RES-22). */
  readonly loadShipped: (place: Place, format: Format) => DirectoryState | undefined;
  readonly world: World;
}

// A smaller directory is read as fast as its index.
const MIN_ENTRIES = 16;
const MAX_BYTES = 256 * 1024 * 1024;

export function createIndexFile({ directory, version, toSchema, loadShipped, world }: IndexFileOptions): IndexFile {
  // The ignored names determine the content, so they are part of the key.
  const firstLine = (place: Place, format: Format): string =>
    ['wield-index', version, format.name, ...[place.directory, ...(place.ignore ?? [])].map(escapeField)].join('\t');
  const fileOf = (place: Place, format: Format): string =>
    join(directory, `${hashName(firstLine(place, format))}.index`);
  // Checksums of the files that were written.
  const written = new Map<string, string>();
  const loadOwn = (place: Place, format: Format): DirectoryState | undefined => {
    const file = fileOf(place, format);
    try {
      const reading = readHead(file, MAX_BYTES, { isState: true });
      if ('fault' in reading) return undefined;
      return parseIndex(reading.bytes, {
        place,
        format: format.name,
        firstLine: firstLine(place, format),
        prefix: join(place.directory, sep),
        toSchema,
      });
    } catch (error) {
      world.debug(`${file}: index discarded: ${(error as Error).message}`);
      return undefined;
    }
  };
  return {
    load: (place, format) => loadOwn(place, format) ?? (place.external ? loadShipped(place, format) : undefined),
    save(place, format, state) {
      if (state.entries.size < MIN_ENTRIES) return;
      const file = fileOf(place, format);
      try {
        const bytes = formatIndex(state, firstLine(place, format), place);
        const sum = checksum(bytes);
        // A file that was just saved is read again at every listing, mostly with the same result.
        if (written.get(file) === sum) return;
        writeFileAtomic(file, bytes, { durable: false });
        written.set(file, sum);
      } catch (error) {
        world.debug(`${file}: index not written: ${(error as Error).message}`);
      }
    },
    remove(place, format) {
      const file = fileOf(place, format);
      written.delete(file);
      try {
        removeFile(file);
      } catch (error) {
        world.debug(`index not removed: ${(error as Error).message}`);
      }
    },
  };
}
