// What lies at a path, past the search path: every format says what it finds there (RES-2).

import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolError } from '../core/error.js';
import type { Format } from '../core/format.js';
import { statOrNothing } from '../files/read.js';

/** An entry of a directory, as a format counts them. */
export interface Located {
  readonly directory: string;
  readonly entry: string;
}

/** The entry of a format that an absolute path leads to; undefined where it is none. */
export function locate(path: string, format: Format): Located | undefined {
  const stats = statOrNothing(path);
  const entry = basename(path);
  const directory = dirname(path);
  if (stats === undefined || entry === '') return undefined;
  if (format.entries === 'files') return stats.isFile() ? { directory, entry } : undefined;
  if (stats.isDirectory()) return { directory, entry };
  // The first file of a directory stands for it.
  const holder = basename(directory);
  return holder !== '' && format.filesOf?.(holder)[0] === join(holder, entry)
    ? { directory: dirname(directory), entry: holder }
    : undefined;
}

/** The path of a `file:` URI. Throws `invalid_ref` where it has none. */
export function toFilePath(uri: string): string {
  let path: string | undefined;
  try {
    // A relative one would be taken for one of the root.
    path = /^file:\//.test(uri) ? fileURLToPath(uri) : undefined;
  } catch {
    // Said below.
  }
  if (path !== undefined && !path.includes('\0')) return path;
  throw new ToolError('invalid_ref', `"${uri}" is no URI of a file on this machine`, {
    hint: 'write file:///path/to/file, or the path itself',
  });
}
