// Landlock, by setpriv of util-linux: for systems without user namespaces.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { statOrNothing } from '../../files/read.js';
import { isWithin } from '../../files/within.js';
import { type LauncherOptions, SYSTEM } from './bubblewrap.js';

// Rights of directories are invalid for files.
const READ = { file: 'execute,read-file', directory: 'execute,read-file,read-dir' };
const WRITE = {
  file: 'execute,read-file,write-file,truncate',
  directory:
    'execute,read-file,read-dir,write-file,truncate,remove-dir,remove-file,make-dir,make-reg,make-sock,make-fifo,make-sym,refer',
};
const ALWAYS_WRITABLE = ['/dev/null', '/dev/zero', '/dev/full', '/dev/tty', '/dev/random', '/dev/urandom'];
// More rules make the start slow; the parent of what is left out is not readable then.
const MAX_RULES = 4000;

export interface LandlockOptions extends LauncherOptions {
  /** The path of `unshare`, which separates the network. */
  readonly unshare: string;
}

/**
 * Returns the arguments, or undefined if there are too many. Landlock allows paths and cannot hide any, so what lies
 * beside a hidden path is listed one by one.
 */
export function landlockLauncher(options: LandlockOptions): string[] | undefined {
  const { program, unshare, profile, expose, state = [] } = options;
  const { read, write, network, secrets, deny } = profile;
  const hidden = [...secrets, ...deny];
  const reads = (read === 'all' ? ['/'] : [...SYSTEM, '/dev', '/proc', ...read]).flatMap((root) =>
    except(root, hidden),
  );
  const writes = (write === 'all' ? ['/'] : write).flatMap((root) => except(root, hidden));
  if (reads.length + writes.length > MAX_RULES) return undefined;
  const rule = (rights: typeof READ, path: string): string[] => {
    const stats = statOrNothing(path);
    if (stats === undefined) return [];
    return ['--landlock-rule', `path-beneath:${stats.isDirectory() ? rights.directory : rights.file}:${path}`];
  };
  return [
    ...(network ? [] : [unshare, '--net', '--']),
    program,
    '--no-new-privs',
    '--landlock-access',
    'fs',
    ...[...reads, ...expose.filter((path) => !deny.some((one) => isWithin(one, path)))].flatMap((path) =>
      rule(READ, path),
    ),
    ...[...writes, ...state, ...ALWAYS_WRITABLE].flatMap((path) => rule(WRITE, path)),
    '--',
  ];
}

// Returns the largest paths below a root that contain nothing hidden.
function except(root: string, hidden: readonly string[]): string[] {
  if (hidden.some((path) => isWithin(path, root))) return [];
  if (!hidden.some((path) => isWithin(root, path))) return [root];
  try {
    return readdirSync(root).flatMap((name) => except(join(root, name), hidden));
  } catch {
    return [];
  }
}
