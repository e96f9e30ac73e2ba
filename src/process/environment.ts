// Builds the environment of a process from nothing: what is not named here or granted is not there.

import { delimiter, isAbsolute } from 'node:path';
import type { World } from '../core/world.js';

const BASE = ['PATH', 'HOME', 'USER', 'LANG', 'TERM', 'TMPDIR', 'TZ'];
const FALLBACK_PATH = '/usr/local/bin:/usr/bin:/bin';
// Variables that make a loader or an interpreter run other code: a wildcard never grants them (EXE-2).
const LOADERS = /^(?:LD_|DYLD_|PYTHON|PERL5|GIT_)|^(?:NODE_OPTIONS|BASH_ENV|ENV|RUBYOPT)$/;
// Nor the parameters of a call that this one stands inside of: they are not this tool's.
const PARAMETERS = /^(?:WIELD|OCTOMIND)_PARAM_/;

/** The variables every process gets, and those that the configuration passes on. */
export function baseEnvironment(world: World, pass: readonly string[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) {
    if (value === undefined || value.includes('\0')) continue;
    if (BASE.includes(name) || name.startsWith('LC_') || isGranted(name, pass)) environment[name] = value;
  }
  environment.PATH = searchPath(world).join(delimiter);
  if (world.home !== undefined) environment.HOME = world.home;
  return environment;
}

/** Whether the configuration passes a variable on. */
export function isGranted(name: string, pass: readonly string[]): boolean {
  return pass.some((entry) =>
    entry.endsWith('*')
      ? name.startsWith(entry.slice(0, -1)) && !LOADERS.test(name) && !PARAMETERS.test(name)
      : entry === name,
  );
}

/** The directories that programs are looked for in: absolute ones only, so that none hides in a checkout. */
export function searchPath(world: World): string[] {
  const absolute = (world.env.PATH ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
  // An empty search path would mean the current directory to many programs.
  return absolute.length > 0 ? absolute : FALLBACK_PATH.split(delimiter);
}
