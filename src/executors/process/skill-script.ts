// Finds a script of a skill: a regular file in its `scripts` directory, links that leave it refused.

import { join } from 'node:path';
import { statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';

/** The real path of `scripts/<name>`, or of `scripts/<name>.sh`; undefined where neither is a file inside (TJS-16). */
export function findSkillScript(directory: string, name: string): string | undefined {
  const scripts = realPath(join(directory, 'scripts'));
  const skill = realPath(directory);
  if (scripts === undefined || skill === undefined || !isWithin(skill, scripts)) return undefined;
  for (const file of [name, `${name}.sh`]) {
    const real = realPath(join(scripts, file));
    if (real !== undefined && isWithin(scripts, real) && statOrNothing(real)?.isFile()) return real;
  }
  return undefined;
}
