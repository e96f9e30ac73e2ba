// Bubblewrap: the arguments that start a process in its own namespaces with only what its profile allows.

import { dirname } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { SandboxAccess, SandboxRules } from '../../core/sandbox.js';
import { statOrNothing } from '../../files/read.js';
import { isWithin } from '../../files/within.js';
import { FILTER_DESCRIPTOR } from '../start.js';
import { TEMPORARY } from './places.js';
import type { Profile } from './profile.js';
import { accessTo } from './rules.js';

export interface LauncherOptions {
  readonly program: string;
  readonly profile: Profile;
  readonly rules: SandboxRules;
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
// Settings of the kernel, which root may change without capabilities, such as the program that gets core dumps. Bubblewrap
// covers `sysrq-trigger`, `irq` and `bus` itself. Drivers get a tmpfs, which is cheaper than a bind.
const KERNEL_SETTINGS = ['/proc/sys', '/proc/mtrr'];
const KERNEL_DRIVERS = ['/proc/fs', '/proc/acpi', '/proc/asound', '/proc/scsi', '/proc/driver'];
// Names of keys, which belong to a user, not to a namespace.
const KERNEL_KEYS = '/proc/keys';
const TMP_BYTES = String(1024 ** 3);
// Bubblewrap reads the table of mounts for each one.
const MAX_MOUNTS = 500;

export function bubblewrapLauncher({ program, profile, rules, filter, hiddenFile }: LauncherOptions): string[] {
  const { write, network } = profile;
  return [
    program,
    ...NAMESPACES,
    ...(filter === undefined ? [] : ['--seccomp', String(FILTER_DESCRIPTOR)]),
    ...(network === true ? ['--share-net'] : []),
    ...(rules.has('/') ? [rules.get('/') === 'write' ? '--bind' : '--ro-bind', '/', '/'] : []),
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    ...(statOrNothing(KERNEL_KEYS) === undefined ? [] : ['--ro-bind', hiddenFile, KERNEL_KEYS]),
    ...guardKernel(),
    ...toMounts(rules, profile, hiddenFile),
    ...(write === 'all' ? [] : ['--setenv', 'TMPDIR', '/tmp']),
    '--',
  ];
}

function bind(flag: string, paths: readonly string[]): string[] {
  return paths.flatMap((path) => [flag, path, path]);
}

function guardKernel(): string[] {
  if (process.getuid?.() !== 0) return [];
  const exists = (path: string): boolean => statOrNothing(path) !== undefined;
  return [
    ...bind('--ro-bind', KERNEL_SETTINGS.filter(exists)),
    ...KERNEL_DRIVERS.filter(exists).flatMap((path) => ['--perms', '0555', '--size', '4096', '--tmpfs', path]),
  ];
}

const depth = (path: string): number => path.split('/').length;

// Outer paths first, since a mount covers what was mounted below it before.
function toMounts(rules: SandboxRules, { homes }: Profile, hiddenFile: string): string[] {
  const made = new Set<string>();
  const visible = [...rules].filter(([, access]) => access !== 'hidden').map(([path]) => path);
  const outerFirst = [...rules].filter(([path]) => path !== '/').sort(([a], [b]) => depth(a) - depth(b));
  const mounts = outerFirst.flatMap(([path, access]) => {
    const around = accessTo(rules, dirname(path));
    const isHome = access === 'hidden' && homes.includes(path);
    // A home is a mount of its own, so that nothing can be written beside what is open in it.
    const isOnTheWay = visible.some((one) => one !== path && isWithin(path, one));
    if (around === access && !isHome && !(access === 'hidden' && isOnTheWay)) return [];
    if (access === 'hidden' && (around === undefined || (around === 'private' && !isHome))) return [];
    const mount = toMount(path, access, isOnTheWay, hiddenFile);
    if (mount.length === 0) return [];
    const parents = between(made, path);
    for (const one of [...parents, path]) made.add(one);
    // EXE-80: a mount cannot be renamed or removed, so no directory around a hidden or protected path can be moved.
    if (around === 'write') return [...bind('--bind-try', parents), ...mount];
    return [...(around === 'hidden' ? parents.flatMap((one) => ['--perms', '0111', '--dir', one]) : []), ...mount];
  });
  if (made.size > MAX_MOUNTS) throw tooMany(made.size);
  return mounts;
}

// The directories between a path and the closest mount around it.
function between(made: ReadonlySet<string>, path: string): string[] {
  const parent = dirname(path);
  return parent === '/' || made.has(parent) ? [] : [...between(made, parent), parent];
}

// A hidden directory that contains something visible can be passed through but not listed.
function toMount(path: string, access: SandboxAccess, isOnTheWay: boolean, hiddenFile: string): string[] {
  switch (access) {
    case 'write':
      return bind('--bind-try', [path]);
    case 'read':
      return bind('--ro-bind-try', [path]);
    case 'private':
      return ['--perms', TEMPORARY.includes(path) ? '1777' : '0755', '--size', TMP_BYTES, '--tmpfs', path];
  }
  const stats = statOrNothing(path);
  if (stats === undefined) return [];
  if (!stats.isDirectory()) return ['--ro-bind', hiddenFile, path];
  return ['--perms', isOnTheWay ? '0111' : '0000', '--tmpfs', path];
}

function tooMany(count: number): ToolError {
  return new ToolError('unavailable', `the sandbox would hide or protect ${count} paths; the limit is ${MAX_MOUNTS}`, {
    hint: 'use a smaller workdir, or list the directories that the tool may write: [sandbox.NAME] write = [...]',
  });
}
