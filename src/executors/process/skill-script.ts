// Finds a script in the `scripts` directory of a skill; links that leave it are not followed.

import { join } from 'node:path';
import { statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';

/** Returns the real path of `scripts/<name>` or `scripts/<name>.sh`, if it is a file inside `scripts` (TJS-16). */
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
