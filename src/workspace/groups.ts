// Groups: directories below `.agents/tools`, which hold modules (MOD-32).

import { join } from 'node:path';
import type { FileIdentity, Place } from '../core/origin.js';
import { DEFAULT_IGNORE } from '../core/search-path.js';
import { compareText } from '../core/text.js';
import { admittedPath } from '../files/boundary.js';
import { entriesOf } from '../files/list.js';
import { isSettled, sameIdentity, statOrNothing, toIdentity } from '../files/read.js';

/** Returns a function that lists the groups of a place; they are listed again when the directory changed. */
export function createGroups(now: () => number): (place: Place) => readonly Place[] {
  const known = new Map<string, { readonly identity: FileIdentity; readonly groups: readonly Place[] }>();
  return (place) => {
    const { directory } = place;
    const stats = statOrNothing(directory);
    if (!stats?.isDirectory()) return [];
    const before = known.get(directory);
    const identity = toIdentity(stats);
    if (before !== undefined && sameIdentity(identity, before.identity)) return before.groups;
    // RES-46: a directory behind a link out is not listed.
    const path = admittedPath(directory, place.boundary);
    if (path === undefined) return [];
    const groups = listDirectories(path).map(
      (name): Place => ({ ...place, directory: join(directory, name), kind: 'groups' }),
    );
    if (isSettled(identity, now())) known.set(directory, { identity, groups });
    return groups;
  };
}

// Links are not followed: a checkout could name any directory.
function listDirectories(directory: string): string[] {
  return entriesOf(directory)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !DEFAULT_IGNORE.includes(entry.name))
    .map(({ name }) => name)
    .sort(compareText);
}
