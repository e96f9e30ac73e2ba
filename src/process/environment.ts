// Builds the environment of a process from a fixed list of variables and those the configuration passes on.

import { delimiter, isAbsolute } from 'node:path';
import type { World } from '../core/world.js';

const BASE = ['PATH', 'USER', 'LANG', 'TERM', 'TMPDIR', 'TZ'];
const FALLBACK_PATH = '/usr/local/bin:/usr/bin:/bin';
// Variables that make a loader or interpreter run other code. A wildcard never matches them (EXE-2).
const LOADERS = /^(?:LD_|DYLD_|PYTHON|PERL5|GIT_)|^(?:NODE_OPTIONS|BASH_ENV|ENV|RUBYOPT)$/;
// Our own settings and what an outer call was given. A wildcard never matches them either.
const OWN = /^(?:WIELD|OCTOMIND)_/;
// The token of our server and the mark of an outer call: not passed on, whatever the configuration says.
const NEVER = /^WIELD_(?:TOKEN|CALL)$/;

/** Returns the variables every process gets, and those that the configuration passes on. */
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
  if (NEVER.test(name)) return false;
  return pass.some((entry) =>
    entry.endsWith('*')
      ? name.startsWith(entry.slice(0, -1)) && !LOADERS.test(name) && !OWN.test(name)
      : entry === name,
  );
}

/** Returns the absolute directories of PATH; relative ones could lead into a checkout. */
export function searchPath(world: World): string[] {
  const absolute = (world.env.PATH ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
  // Many programs take an empty PATH as the current directory.
  return absolute.length > 0 ? absolute : FALLBACK_PATH.split(delimiter);
}
