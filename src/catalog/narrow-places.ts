// Narrows the search path of a snapshot to what skills allow the tools they govern to find (RES-44).

import { resolve } from 'node:path';
import type { Place } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import { extractIgnore, iterPaths, REST } from '../core/search-path.js';
import type { Narrowing } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { isWithin } from '../files/within.js';

/** Returns the snapshot with the places that `metadata.paths` of every skill names; the snapshot itself without any. */
export function narrowPlaces(snapshot: Snapshot, narrowing: readonly Narrowing[]): Snapshot {
  const limiting = narrowing.filter(({ paths }) => paths !== undefined);
  if (limiting.length === 0) return snapshot;
  const { now, user, workdir, settings, policy, trusted, roots, servers, problems } = snapshot;
  return Object.freeze({
    now,
    user,
    workdir,
    settings,
    policy,
    trusted,
    roots,
    servers,
    problems,
    places: limiting.reduce(narrow, snapshot.places),
    libraries: limiting.reduce(narrow, snapshot.libraries),
    // A login during the call adds secrets.
    get secrets() {
      return snapshot.secrets;
    },
    get hidden() {
      return snapshot.hidden;
    },
    boundaryOf: (files) => snapshot.boundaryOf(files),
  } satisfies Snapshot);
}

/** Returns a problem for each directory of `metadata.paths` that is not on the search path. */
export function findForeignPaths({ file, directory, paths = [] }: Narrowing, places: readonly Place[]): Problem[] {
  return [...iterPaths(paths)]
    .filter(({ dir }) => dir !== REST && !places.some((place) => isNamed(place, dir, directory)))
    .map(({ dir }) => ({
      severity: 'warning',
      path: file,
      message: `metadata.paths names "${dir}", which is not on the search path, so nothing is found there`,
      hint: 'a skill can only narrow the search path; add the directory to `paths` of the configuration',
    }));
}

function narrow(places: readonly Place[], { directory, paths = [] }: Narrowing): readonly Place[] {
  const ignore = extractIgnore(paths);
  const names = [...iterPaths(paths)].map(({ dir }) => dir);
  // A list of ignored entries alone names no directory.
  const named =
    names.length === 0 || names.includes(REST)
      ? places
      : places.filter((place) => names.some((name) => isNamed(place, name, directory)));
  return ignore.length === 0
    ? named
    : named.map((place) => ({ ...place, ignore: [...(place.ignore ?? []), ...ignore] }));
}

function isNamed(place: Place, name: string, directory: string): boolean {
  return isWithin(resolve(directory, name), place.directory);
}
