// Containment of paths, and their URIs.

import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { orNothing } from '../core/error.js';

// Relative paths, and paths with empty, `.` or `..` segments.
const NOT_PLAIN = /^[^/]|\/\.{0,2}(?:\/|$)/;

/** Whether `path` is `directory` or below it; does not resolve links. */
export function isWithin(directory: string, path: string): boolean {
  if (!NOT_PLAIN.test(directory) && !NOT_PLAIN.test(path))
    return path === directory || path.startsWith(`${directory}/`);
  const rest = relative(directory, path);
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/** Resolves all links of a path; undefined if it does not exist. */
export function realPath(path: string): string | undefined {
  return orNothing(() => realpathSync.native(path));
}

/** Returns the `file:` URI of an absolute path. */
export function toFileUri(path: string): string {
  return pathToFileURL(path).href;
}

/** Returns the path of a `file:` URI, without its fragment; undefined for any other, and for one of another host. */
export function fromFileUri(uri: string | null): string | undefined {
  return uri?.startsWith('file:') ? orNothing(() => fileURLToPath(uri)) : undefined;
}
