// Finds the workdir: the nearest directory upwards with an `.agents` directory owned by the user.

import { dirname, join, resolve } from 'node:path';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';

export interface FindWorkdirOptions {
  /** Where to start. */
  readonly cwd: string;
  readonly home: string | undefined;
  /** The user's id; undefined on systems without one. */
  readonly uid: number | undefined;
}

/** Returns the workdir of a directory (RES-40). The home directory and its parents are never found by `.agents`. */
export function findWorkdir({ cwd, home, uid }: FindWorkdirOptions): string {
  const start = resolve(cwd);
  // The current directory is a real path; home may be a link.
  const homes = home === undefined ? [] : [home, realPath(home) ?? home];
  const isAbove = (directory: string): boolean => homes.some((one) => isWithin(directory, one));
  for (let directory = start; !isAbove(directory); directory = dirname(directory)) {
    const stats = statOrNothing(join(directory, '.agents'));
    if (stats?.isDirectory() && (uid === undefined || stats.uid === uid)) return directory;
    if (dirname(directory) === directory) break;
  }
  return start;
}
