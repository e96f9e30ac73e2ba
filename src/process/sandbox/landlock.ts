// Landlock, by setpriv of util-linux: for systems without user namespaces.

import { accessSync, constants, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { statOrNothing } from '../../files/read.js';
import { isWithin } from '../../files/within.js';
import { type LauncherOptions, SYSTEM } from './bubblewrap.js';
import { visibleSecrets } from './profile.js';

// Rights of directories are invalid for files.
const READ = { file: 'execute,read-file', directory: 'execute,read-file,read-dir' };
const WRITE = {
  file: 'execute,read-file,write-file,truncate',
  directory:
    'execute,read-file,read-dir,write-file,truncate,remove-dir,remove-file,make-dir,make-reg,make-sock,make-fifo,make-sym,refer',
};
const ALWAYS_WRITABLE = ['/dev/null', '/dev/zero', '/dev/full', '/dev/tty', '/dev/random', '/dev/urandom'];
// Other devices, and sockets of the system.
const ALWAYS_HIDDEN = ['/dev', '/run'];
// Settings of the kernel, which root may change without capabilities.
const NEVER_WRITTEN = ['/proc', '/sys'];
// Root keeps no capabilities; only root may give them up.
const NO_CAPABILITIES = ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all'];
// More rules make the start slow; the parent of what is left out is not readable then.
const MAX_RULES = 4000;

export interface LandlockOptions extends LauncherOptions {
  /** The path of `unshare`, which separates the network. */
  readonly unshare: string;
  /** A directory of its own for temporary files. */
  readonly temporary?: string;
}

/**
 * Returns the arguments, or undefined if there are too many. Landlock allows paths and cannot hide any, so what lies
 * beside a hidden path is listed one by one. Next to one that must not be written, nothing new can be created.
 */
export function landlockLauncher(options: LandlockOptions): string[] | undefined {
  const { program, unshare, profile, expose, state = [], filter, temporary } = options;
  const { read, write, network, secrets, deny, guarded } = profile;
  const hidden = [...secrets, ...deny];
  const reads = (read === 'all' ? ['/'] : [...SYSTEM, '/proc', ...read]).flatMap((root) =>
    except(root, [...hidden, ...ALWAYS_HIDDEN]),
  );
  reads.push(...profile.shown.flatMap((root) => except(root, hidden)));
  const kept = [...hidden, ...ALWAYS_HIDDEN, ...NEVER_WRITTEN, ...guarded];
  const writes = (write === 'all' ? ['/'] : write).flatMap((root) => except(root, kept));
  const again = visibleSecrets(profile);
  reads.push(...again);
  writes.push(...again.filter((path) => write !== 'all' && write.some((root) => isWithin(root, path))));
  if (reads.length + writes.length > MAX_RULES) return undefined;
  const rule = (rights: typeof READ, path: string): string[] => {
    const isDirectory =
      statOrNothing(path)?.isDirectory() ?? (canCreate(path, writes) ? path.endsWith('/') : undefined);
    if (isDirectory === undefined) return [];
    return ['--landlock-rule', `path-beneath:${isDirectory ? rights.directory : rights.file}:${path}`];
  };
  return [
    ...(network ? [] : [unshare, '--net', '--']),
    program,
    '--no-new-privs',
    ...(filter === undefined ? [] : ['--seccomp-filter', filter]),
    ...(process.getuid?.() === 0 ? NO_CAPABILITIES : []),
    '--landlock-access',
    'fs',
    ...[...reads, ...expose.filter((path) => !deny.some((one) => isWithin(one, path)))].flatMap((path) =>
      rule(READ, path),
    ),
    ...[...writes, ...state, ...ALWAYS_WRITABLE].flatMap((path) => rule(WRITE, path)),
    // It is created before the process starts.
    ...(temporary === undefined ? [] : ['--landlock-rule', `path-beneath:${WRITE.directory}:${temporary}`]),
    '--',
  ];
}

// A path to write that is missing is created before the process starts.
function canCreate(path: string, writes: readonly string[]): boolean {
  if (!writes.includes(path)) return false;
  try {
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

// Returns the largest paths below a root that contain nothing hidden. A rule for a link would allow what it leads to.
function except(root: string, hidden: readonly string[]): string[] {
  if (hidden.some((path) => isWithin(path, root))) return [];
  if (!hidden.some((path) => isWithin(root, path))) return [root];
  try {
    return readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
      entry.isSymbolicLink() ? [] : except(join(root, entry.name), hidden),
    );
  } catch {
    return [];
  }
}
