// Landlock, by setpriv of util-linux: for systems without user namespaces.

import { accessSync, constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { orNothing } from '../../core/error.js';
import type { SandboxAccess } from '../../core/sandbox.js';
import { entriesOf } from '../../files/list.js';
import { statOrNothing } from '../../files/read.js';
import { isWithin } from '../../files/within.js';
import type { LauncherOptions } from './bubblewrap.js';
import { TEMPORARY } from './places.js';
import type { Profile } from './profile.js';

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
  /** The command that separates the network. */
  readonly unshare: readonly string[];
  /** A directory of its own for temporary files. */
  readonly temporary?: string;
}

/**
 * Returns the arguments, or undefined if there are too many. Landlock allows paths and cannot hide any, so what lies
 * beside a hidden path is listed one by one. Next to one that must not be written, nothing new can be created.
 */
export function landlockLauncher(options: LandlockOptions): string[] | undefined {
  const { program, unshare, profile, rules, filter, temporary } = options;
  // Landlock has no private directories: those for temporary files stay as they are.
  const own = [...rules].map(([path, access]): readonly [string, SandboxAccess] =>
    access === 'private' ? [path, TEMPORARY.includes(path) && rules.has('/') ? 'read' : 'hidden'] : [path, access],
  );
  const pathsOf = (...accesses: readonly SandboxAccess[]): string[] =>
    own.filter(([, access]) => accesses.includes(access)).map(([path]) => path);
  const hidden = [...pathsOf('hidden'), ...ALWAYS_HIDDEN];
  const kept = [...hidden, ...pathsOf('read'), ...NEVER_WRITTEN];
  const reads = [...pathsOf('read'), '/proc'].flatMap((root) => except(root, hidden));
  const writes = pathsOf('write').flatMap((root) => except(root, kept));
  if (reads.length + writes.length > MAX_RULES) return undefined;
  const rule = (rights: typeof READ, path: string): string[] => {
    const isDirectory = statOrNothing(path)?.isDirectory() ?? willBeDirectory(path, profile);
    if (isDirectory === undefined) return [];
    return ['--landlock-rule', `path-beneath:${isDirectory ? rights.directory : rights.file}:${path}`];
  };
  return [
    ...(profile.network === true ? [] : [...unshare, '--']),
    program,
    '--no-new-privs',
    ...(filter === undefined ? [] : ['--seccomp-filter', filter]),
    ...(process.getuid?.() === 0 ? NO_CAPABILITIES : []),
    '--landlock-access',
    'fs',
    ...reads.flatMap((path) => rule(READ, path)),
    ...[...writes, ...ALWAYS_WRITABLE].flatMap((path) => rule(WRITE, path)),
    // It is created before the process starts.
    ...(temporary === undefined ? [] : ['--landlock-rule', `path-beneath:${WRITE.directory}:${temporary}`]),
    '--',
  ];
}

// A path to write that is missing is created before the process starts, as a directory if it ends in a slash.
function willBeDirectory(path: string, { write }: Profile): boolean | undefined {
  const named = write === 'all' ? undefined : write.find((one) => one === path || one === `${path}/`);
  if (named === undefined) return undefined;
  return orNothing(() => {
    accessSync(dirname(path), constants.W_OK);
    return named.endsWith('/');
  });
}

// Returns the largest paths below a root that contain nothing hidden. A rule for a link would allow what it leads to.
function except(root: string, hidden: readonly string[]): string[] {
  const inside = hidden.filter((path) => path !== root && isWithin(root, path));
  if (inside.length === 0) return [root];
  return entriesOf(root).flatMap((entry) => {
    const path = join(root, entry.name);
    return entry.isSymbolicLink() || inside.includes(path) ? [] : except(path, inside);
  });
}
