// Which directory is the workspace: the nearest one upward that has `.agents` and is the user's own.

import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface FindWorkdirOptions {
  /** Where to start. */
  readonly cwd: string;
  readonly home: string | undefined;
  /** The user's id; undefined where the system has none. */
  readonly uid: number | undefined;
}

/** The workdir for a current directory (RES-40). The home directory is never one by its `.agents` alone. */
export function findWorkdir({ cwd, home, uid }: FindWorkdirOptions): string {
  const start = resolve(cwd);
  for (let directory = start; directory !== home; directory = dirname(directory)) {
    const stats = statSync(join(directory, '.agents'), { throwIfNoEntry: false });
    if (stats?.isDirectory() && (uid === undefined || stats.uid === uid)) return directory;
    if (dirname(directory) === directory) break;
  }
  return start;
}
