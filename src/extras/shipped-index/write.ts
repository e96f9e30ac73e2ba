// Writes and removes the index that a library ships (RES-22).

import { join } from 'node:path';
import { createDirectory } from '../../catalog/directory.js';
import type { Entry } from '../../catalog/entry.js';
import type { Format } from '../../core/format.js';
import type { Place } from '../../core/origin.js';
import { DEFAULT_IGNORE } from '../../core/search-path.js';
import type { World } from '../../core/snapshot.js';
import { sealChecked } from '../../files/checksum.js';
import { statOrNothing } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { writeFileAtomic } from '../../files/write.js';
import { filesOf, labelOf, SHIPPED_INDEX, type ShippedEntry, stateOf } from './load.js';

export interface WriteShippedIndexOptions {
  readonly directory: string;
  readonly formats: readonly Format[];
  readonly version: string;
  readonly world: World;
}

/** Writes the index of a directory; returns its file and the number of entries and tools. */
export function writeShippedIndex(options: WriteShippedIndexOptions) {
  const { directory, version, world } = options;
  const place: Place = { directory, owner: 'library', kind: 'skills', ignore: DEFAULT_IGNORE };
  const formats = options.formats.filter((format) => format.places.includes(place.kind));
  const document: Record<string, Record<string, ShippedEntry>> = {};
  const names = new Set<string>();
  let tools = 0;
  for (const format of formats) {
    const view = createDirectory({ place, format, world, index: NO_INDEX });
    const own: [string, ShippedEntry][] = [];
    for (const name of view.names()) {
      const reading = view.at(name);
      // Left out, so that problems are reported when the entry is read.
      if (reading === undefined || reading.problems.length > 0) continue;
      own.push([name, toShipped(reading, filesOf(format, name, place))]);
      names.add(name);
      tools += reading.tools.length;
    }
    document[format.name] = Object.fromEntries(own);
  }
  const file = join(directory, SHIPPED_INDEX);
  writeFileAtomic(file, sealChecked(JSON.stringify(document), labelOf(version)), { mode: 0o644 });
  return { file, entries: names.size, tools };
}

export function removeShippedIndex(directory: string) {
  const file = join(directory, SHIPPED_INDEX);
  const removed = statOrNothing(file) !== undefined;
  removeFile(file);
  return { file, removed };
}

const NO_INDEX = { load: () => undefined, save: () => {}, remove: () => {} };

function toShipped(reading: NonNullable<Entry['reading']>, files: readonly string[]): ShippedEntry {
  return {
    states: files.map(stateOf),
    tools: reading.tools.map(({ name, description, input, output, traits, origin }) => ({
      name,
      description,
      input: input.json,
      output: output?.json,
      traits,
      server: origin.server,
    })),
    skills: (reading.skills ?? []).map(({ file: _, directory: __, owner: ___, ...skill }) => skill),
  };
}
