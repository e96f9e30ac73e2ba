// Finds the home directory and the wield home. Neither is ever resolved against the current directory.

import { lstatSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { orNothing, ToolError } from '../core/error.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the home directory; an empty or relative `HOME` is none. `ofSystem` is used if it is unset. */
export function findHome({ HOME }: Environment, ofSystem: () => string): string | undefined {
  const home = HOME ?? orNothing(ofSystem);
  return home !== undefined && isFixed(home) ? resolve(home) : undefined;
}

const IN_HOME = /^~(?=\/|$)/;

/** Returns a path with the home directory in place of a `~` at its start; as it is without one. */
export function expandHome(path: string, home: string | undefined): string {
  return home !== undefined && IN_HOME.test(path) ? join(home, path.slice(1)) : path;
}

/** Makes a path absolute; undefined if it needs a home directory and there is none. */
export function toAbsolute(path: string, workdir: string, home: string | undefined): string | undefined {
  return home === undefined && IN_HOME.test(path) ? undefined : resolve(workdir, expandHome(path, home));
}

/**
 * Returns the directory of wield's state and of the user's configuration. Throws if a variable names no absolute path,
 * or one in a checkout: the files there were written by the authors of the repository.
 */
export function findWieldHome(env: Environment, home: string | undefined): string {
  const { WIELD_HOME, MIND_HOME, HOME } = env;
  for (const [name, value] of Object.entries({ WIELD_HOME, MIND_HOME })) {
    if (value === undefined) continue;
    if (!isFixed(value)) throw notAbsolute(name, value, 'or unset it');
    if (name === 'MIND_HOME' && isMindHome(value)) continue;
    return refuseCheckout(resolve(value));
  }
  if (home !== undefined) return refuseCheckout(join(home, '.wield'));
  if (HOME !== undefined) throw notAbsolute('HOME', HOME, 'or set WIELD_HOME');
  throw new ToolError('unavailable', 'no home directory for state', {
    hint: 'set HOME or WIELD_HOME',
  });
}

// `/proc/self/cwd` and similar paths are relative to the process.
function isFixed(path: string): boolean {
  return isAbsolute(path) && !/^\/(proc|dev\/fd)(\/|$)/.test(resolve(path));
}

/** Whether mind keeps its state in a directory. wield has files of the same names, and does not write there. */
function isMindHome(directory: string): boolean {
  return ['.lock', 'manifest.json'].some((name) => isThere(join(directory, name)));
}

const homes = new Set<string>();

/** Makes a directory known as a wield home. */
export function acceptHome(wieldHome: string): void {
  homes.add(wieldHome);
}

/** Returns the directories between a file and its wield home; undefined if it is not in one. */
export function directoriesInHome(file: string): string[] | undefined {
  const directories: string[] = [];
  for (let path = dirname(file); !homes.has(path); path = dirname(path)) {
    if (dirname(path) === path) return undefined;
    directories.push(path);
  }
  return directories;
}

function refuseCheckout(wieldHome: string): string {
  if (homes.has(wieldHome)) return wieldHome;
  const real = followLinks(wieldHome);
  const checkout = findCheckout(real) ?? (real === wieldHome ? undefined : findCheckout(wieldHome));
  if (checkout === undefined) {
    homes.add(wieldHome);
    return wieldHome;
  }
  throw new ToolError('unavailable', `the state ${wieldHome} is in the git checkout ${checkout}`, {
    hint: 'set WIELD_HOME to another directory',
  });
}

// Follows links of the part of a path that exists.
function followLinks(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(followLinks(parent), basename(path));
  }
}

/** Returns the git checkout that contains a path. The user's home directory is none: it may be a repository of settings. */
export function findCheckout(path: string): string | undefined {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if (isThere(join(directory, '.git')) && !isRealHome(directory)) return directory;
    if (dirname(directory) === directory) return undefined;
  }
}

function isThere(path: string): boolean {
  return orNothing(() => lstatSync(path, { throwIfNoEntry: false }) !== undefined) ?? false;
}

function isRealHome(directory: string): boolean {
  return orNothing(() => resolve(userInfo().homedir) === directory) ?? false;
}

function notAbsolute(name: string, value: string, otherwise: string): ToolError {
  const why = isAbsolute(value) ? 'depends on the process' : 'is not an absolute path';
  const shown = value === '' ? 'empty' : `${JSON.stringify(value)}, which ${why}`;
  return new ToolError('unavailable', `${name} is ${shown}`, {
    hint: `set ${name} to an absolute path, ${otherwise}`,
  });
}
