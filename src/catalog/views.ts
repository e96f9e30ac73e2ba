// Views of directories, one per place and format, created on first use.

import type { Format, Place } from '../core/format.js';
import type { World } from '../core/world.js';
import { createDirectory, type Directory } from './directory.js';
import type { IndexFile } from './index-file.js';

export interface ViewsOptions {
  readonly formats: readonly Format[];
  readonly index: IndexFile;
  readonly world: World;
}

export interface Views {
  of(place: Place, format: Format): Directory;
  /** Returns the views of the search path; formats that yield come last, whatever their place (SKL-3). */
  inOrder(places: readonly Place[]): readonly Directory[];
  /** Clears everything cached, or what contains a tool of this name (RES-14). */
  forget(places: readonly Place[], name?: string): void;
}

// Includes views of directories outside the search path, for programs that refer to tools by path.
const MAX_VIEWS = 256;

export function createViews({ formats, index, world }: ViewsOptions): Views {
  const views = new Map<string, Directory>();

  const of = (place: Place, format: Format): Directory => {
    const { kind, owner, directory, external = false, ignore = [] } = place;
    const key = [format.name, kind, owner, external, directory, ...ignore].join('\n');
    let known = views.get(key);
    if (known === undefined) {
      if (views.size >= MAX_VIEWS) views.clear();
      known = createDirectory({ place, format, world, index });
      views.set(key, known);
    }
    return known;
  };
  const inOrder = (places: readonly Place[]): readonly Directory[] => {
    const all = places.flatMap((place) =>
      formats.filter((format) => format.places.includes(place.kind)).map((format) => of(place, format)),
    );
    return [...all.filter((directory) => !directory.yields), ...all.filter((directory) => directory.yields)];
  };

  return {
    of,
    inOrder,
    forget(places, name) {
      // Creates the views of the search path, whose index files may contain the tool.
      inOrder(places);
      for (const view of views.values()) view.forget(name);
    },
  };
}
