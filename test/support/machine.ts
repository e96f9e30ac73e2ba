// What tests need from the machine. Where it is missing, they are skipped with the reason and the command that helps.

import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import optional from './optional-programs.json' with { type: 'json' };

/** The package of a program, where its name differs. */
const PACKAGES: Readonly<Record<string, string>> = {
  ...optional,
  go: 'golang-go',
  prlimit: 'util-linux',
  script: 'bsdutils',
  'ssh-keygen': 'openssh-client',
  unshare: 'util-linux',
};

/** Returns the path of a program, looked up on PATH and nowhere else: a run without it only needs another PATH. */
export function findProgram(name: string): string | undefined {
  const directories = (process.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '');
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

export function hasProgram(name: string): boolean {
  return findProgram(name) !== undefined;
}

/** Returns the reason to skip a test, for programs of which some may be missing. */
export function notInstalled(...names: readonly string[]): string {
  const packages = names.filter((name) => !hasProgram(name)).map((name) => PACKAGES[name] ?? name);
  return `not installed: ${packages.join(', ')}; to run: apt-get install ${packages.join(' ')}`;
}

/** Whether a command exits with 0. */
export function succeeds(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

export const isRoot = process.getuid?.() === 0;
export const NOT_ROOT = 'needs root; to run: sudo npm test';
export const NOT_USER = 'root can read every file; to run: npm test as an ordinary user';
export const NO_PROC = 'needs /proc; to run: npm test on Linux';
export const NO_MOUNT = 'may not mount file systems; to run: sudo npm test, in a container with --privileged';
export const NO_NAMESPACES = 'may not create user namespaces; to run: sysctl kernel.unprivileged_userns_clone=1';

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
