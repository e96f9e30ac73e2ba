// Bubblewrap: the arguments that start a process in its own namespaces with only what its profile allows.

import { dirname } from 'node:path';
import { statOrNothing } from '../../files/read.js';
import { isWithin } from '../../files/within.js';
import { FILTER_DESCRIPTOR } from '../spawn.js';
import { type Profile, RUN, TEMPORARY, visibleSecrets } from './profile.js';

export interface LauncherOptions {
  readonly program: string;
  readonly profile: Profile;
  readonly workdir: string;
  readonly home?: string | undefined;
  /** Paths that the process needs besides, read-only, even inside hidden ones. */
  readonly expose: readonly string[];
  /** Like `expose`, and writable. */
  readonly state?: readonly string[];
  /** The seccomp filter. */
  readonly filter?: string | undefined;
  /** A file that nobody can read, shown in place of hidden files. */
  readonly hiddenFile: string;
}

const NAMESPACES = [
  '--unshare-all',
  '--unshare-user',
  '--disable-userns',
  '--cap-drop',
  'ALL',
  '--die-with-parent',
  '--new-session',
];
/** Needed by nearly every program; readable also if a profile lists what it reads. */
export const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/opt', '/nix', '/sys'];
// What name resolution needs in /run, which is hidden because of the sockets in it.
const RESOLVERS = ['/run/systemd/resolve', '/run/resolvconf', '/run/NetworkManager'];
// Settings of the kernel, which root may change without capabilities, such as the program that gets core dumps. Bubblewrap
// covers `sysrq-trigger`, `irq` and `bus` itself. A bind takes ten times as long as a tmpfs.
const KERNEL_SETTINGS = ['/proc/sys', '/proc/mtrr'];
const KERNEL_DRIVERS = ['/proc/fs', '/proc/acpi', '/proc/asound', '/proc/scsi', '/proc/driver'];
// Names of keys, which belong to a user, not to a namespace.
const KERNEL_KEYS = '/proc/keys';
const TMP_BYTES = String(1024 ** 3);

export function bubblewrapLauncher(options: LauncherOptions): string[] {
  const { program, profile, expose, state = [], filter, hiddenFile } = options;
  const { read, write, network } = profile;
  const listed = [...(read === 'all' ? [] : read), ...(write === 'all' ? [] : write)];
  const isVisible = (path: string): boolean =>
    read === 'all' || [...SYSTEM, ...listed].some((root) => isWithin(root, path));
  const secrets = profile.secrets.filter(isVisible);
  const again = visibleSecrets(profile);
  const isWritable = (path: string): boolean => write === 'all' || write.some((root) => isWithin(root, path));
  const mask = (path: string): string[] => hide(path, hiddenFile, [...again, ...expose, ...state]);
  return [
    program,
    ...NAMESPACES,
    ...(filter === undefined ? [] : ['--seccomp', String(FILTER_DESCRIPTOR)]),
    ...(network ? ['--share-net'] : []),
    ...(read === 'all' ? [write === 'all' ? '--bind' : '--ro-bind', '/', '/'] : bind('--ro-bind-try', SYSTEM)),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...(statOrNothing(KERNEL_KEYS) === undefined ? [] : ['--ro-bind', hiddenFile, KERNEL_KEYS]),
    ...guardKernel(write),
    ...['--tmpfs', RUN],
    ...(network ? bind('--ro-bind-try', RESOLVERS) : []),
    ...(write === 'all' ? [] : privateTemporary(options)),
    ...bind('--ro-bind-try', read === 'all' ? profile.shown : read),
    ...(write === 'all' ? [] : bind('--bind-try', write)),
    ...guard(profile),
    ...secrets.flatMap(mask),
    ...again.flatMap((path) => bind(isWritable(path) ? '--bind-try' : '--ro-bind-try', [path])),
    ...bind('--ro-bind', expose),
    ...bind('--bind', state),
    ...profile.deny.filter((path) => statOrNothing(path) !== undefined).flatMap(mask),
    ...(write === 'all' ? [] : ['--setenv', 'TMPDIR', '/tmp']),
    '--',
  ];
}

function bind(flag: string, paths: readonly string[]): string[] {
  return paths.flatMap((path) => [flag, path, path]);
}

function guardKernel(write: Profile['write']): string[] {
  if (process.getuid?.() !== 0) return [];
  const exists = (path: string): boolean => statOrNothing(path) !== undefined;
  return [
    ...bind('--ro-bind', [...KERNEL_SETTINGS, ...(write === 'all' ? ['/sys'] : [])].filter(exists)),
    ...KERNEL_DRIVERS.filter(exists).flatMap((path) => ['--perms', '0555', '--size', '4096', '--tmpfs', path]),
  ];
}

// The home and the workdir may be below /tmp. What can be written to is mounted later.
function privateTemporary({ profile, workdir, home }: LauncherOptions): string[] {
  const again = [home, workdir].filter(
    (path) =>
      path !== undefined && !profile.write.includes(path) && TEMPORARY.some((temporary) => isWithin(temporary, path)),
  );
  return [
    ...TEMPORARY.flatMap((path) => ['--perms', '1777', '--size', TMP_BYTES, '--tmpfs', path]),
    ...(profile.read === 'all' ? bind('--ro-bind-try', again as string[]) : []),
  ];
}

// A directory on the way to a protected one becomes a mount point too, which cannot be renamed.
function guard({ guarded, write }: Profile): string[] {
  return guarded.flatMap((path) => {
    const root = write === 'all' ? '/' : write.find((one) => isWithin(one, path));
    if (root === undefined) return [];
    return [...bind('--bind', write === 'all' ? [] : between(root, path)), ...bind('--ro-bind', [path])];
  });
}

function between(root: string, path: string): string[] {
  const parent = dirname(path);
  return path === root || parent === root ? [] : [...between(root, parent), parent];
}

// A hidden directory that contains something visible can be passed through but not listed.
function hide(path: string, hiddenFile: string, visible: readonly string[]): string[] {
  if (statOrNothing(path)?.isDirectory() !== true) return ['--ro-bind', hiddenFile, path];
  const isOnTheWay = visible.some((one) => one !== path && isWithin(path, one));
  return ['--perms', isOnTheWay ? '0111' : '0000', '--tmpfs', path];
}
