// Containment of paths, decided on canonical paths and never by a string prefix.

import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';

/** Whether `path` is `directory` or lies below it; both are taken as they are. */
export function isWithin(directory: string, path: string): boolean {
  // What only adds names to a directory lies below it; anything else is taken apart.
  if (path.startsWith(directory)) {
    const rest = path.slice(directory.length);
    if (rest === '' || (rest.startsWith(sep) && !rest.includes('..'))) return true;
  }
  const way = relative(directory, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** The path with every link followed; undefined where there is nothing. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
