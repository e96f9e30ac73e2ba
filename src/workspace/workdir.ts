// Which directory is the workspace: the nearest one upward that has `.agents` and is the user's own.

import { dirname, join, resolve } from 'node:path';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';

export interface FindWorkdirOptions {
  /** Where to start. */
  readonly cwd: string;
  readonly home: string | undefined;
  /** The user's id; undefined where the system has none. */
  readonly uid: number | undefined;
}

/** The workdir for a current directory (RES-40). Neither home nor what holds it is one by its `.agents` alone. */
export function findWorkdir({ cwd, home, uid }: FindWorkdirOptions): string {
  const start = resolve(cwd);
  // The current directory is known by its real path; home may be named by a link.
  const homes = home === undefined ? [] : [home, realPath(home) ?? home];
  const isAbove = (directory: string): boolean => homes.some((one) => isWithin(directory, one));
  for (let directory = start; !isAbove(directory); directory = dirname(directory)) {
    const stats = statOrNothing(join(directory, '.agents'));
    if (stats?.isDirectory() && (uid === undefined || stats.uid === uid)) return directory;
    if (dirname(directory) === directory) break;
  }
  return start;
}
