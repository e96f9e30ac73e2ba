// Walks the directories of a project: finds secrets in it, and files that make other programs run code.

import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { nextTurn } from '../../core/async.js';
import { orNothing, ToolError } from '../../core/error.js';
import type { SandboxSearch } from '../../core/sandbox.js';
import { quoteOutside } from '../../core/text.js';
import { createDirectoryCache } from '../../files/directory-cache.js';
import { entriesOf } from '../../files/list.js';
import { lstatOrNothing, readTextFile } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { runsCode } from './runs-code.js';

// The case of names may not count.
const SECRET =
  /^\.(?:env|envrc|dev\.vars)(?:\..+)?$|^\.(?:netrc|pgpass|pypirc|git-credentials)$|^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$|\.kdbx?$/i;
// Templates without values.
const EXAMPLE = /^\.(?:env|envrc|dev\.vars)\.(?:example|sample|template|dist)$/i;

const MODULES = 'node_modules';
// By name: a process could add a file that makes any directory look like one, but not rename what is protected.
const PACKAGES = new Set([MODULES, 'site-packages', 'dist-packages']);
const PROGRAMS = ['bin', 'scripts'];
// Reading more takes longer than a call may be delayed.
const MAX_DIRECTORIES = 50_000;
const MAX_SETTINGS = 1024 * 1024;
// Other calls of a server go on.
const DIRECTORIES_PER_TURN = 200;

interface Listing {
  readonly directories: readonly string[];
  readonly secrets: readonly string[];
  readonly guarded: readonly string[];
  readonly links: readonly string[];
  readonly kind: 'plain' | 'repository' | 'environment';
}

const list = createDirectoryCache((directory): Listing => {
  const entries = entriesOf(directory);
  const names = new Set(entries.map(({ name }) => name));
  const isVirtual = (name: string): boolean => existsSync(join(directory, name, 'pyvenv.cfg'));
  const namesOf = (wanted: (entry: (typeof entries)[number]) => boolean): string[] =>
    entries.filter(wanted).map(({ name }) => name);
  return {
    directories: namesOf((entry) => entry.isDirectory()),
    secrets: namesOf(
      (entry) =>
        SECRET.test(entry.name) && !EXAMPLE.test(entry.name) && !(entry.isDirectory() && isVirtual(entry.name)),
    ),
    guarded: namesOf(({ name }) => runsCode(name, basename(directory))),
    links: namesOf((entry) => entry.isSymbolicLink()),
    kind: ['HEAD', 'objects', 'refs'].every((name) => names.has(name))
      ? 'repository'
      : names.has('pyvenv.cfg')
        ? 'environment'
        : 'plain',
  };
});

export interface Found {
  /** As named, and what a link leads to. */
  readonly secrets: readonly FoundPath[];
  readonly guarded: readonly GuardedPath[];
  readonly directories: readonly string[];
}

export interface FoundPath {
  readonly path: string;
  /** Canonical. */
  readonly real: string;
}

export interface GuardedPath {
  readonly path: string;
  /** Canonical; undefined for a link that leads nowhere. */
  readonly real: string | undefined;
  /** The directory of packages that it belongs to: naming that names it. */
  readonly unit?: string;
}

/**
 * Finds secrets and files that make other programs run code in all directories below a root, but not in skipped ones,
 * and not behind links. Throws `unavailable` if there are too many.
 */
export async function walk({ root, skipped }: Pick<SandboxSearch, 'root' | 'skipped'>): Promise<Found> {
  const found = { secrets: [] as FoundPath[], guarded: [] as GuardedPath[], directories: [] as string[] };
  // Packages contain settings of their authors, which nobody uses: only their programs count.
  const queue: { readonly path: string; readonly name: string; readonly isPackage: boolean }[] = [
    { path: root, name: '', isPackage: false },
  ];
  for (let at = 0; at < queue.length; at++) {
    if (at >= MAX_DIRECTORIES) throw tooLarge(root);
    if (at % DIRECTORIES_PER_TURN === DIRECTORIES_PER_TURN - 1) await nextTurn();
    const { path, name, isPackage } = queue[at]!;
    const listing = list(path);
    if (listing === undefined) continue;
    const { directories, secrets, guarded, links, kind } = listing;
    const find = (one: string): GuardedPath => {
      const whole = join(path, one);
      // A link may lead elsewhere by now.
      return { path: whole, real: links.includes(one) ? realPath(whole) : whole };
    };
    found.directories.push(path);
    found.secrets.push(...secrets.map(find).filter(isThere));
    const isModules = name === MODULES;
    if (!isPackage) {
      if (kind === 'repository') found.guarded.push({ path, real: path });
      found.guarded.push(...guarded.map(find));
      if (directories.includes('.git')) found.guarded.push(...findHooks(path));
      const programs = [...directories, ...links].filter((one) =>
        isModules ? one === '.bin' : kind === 'environment' && PROGRAMS.includes(one.toLowerCase()),
      );
      // Without its file it would not be recognised in the next call.
      for (const one of kind === 'environment' ? [...programs, 'pyvenv.cfg'] : programs)
        found.guarded.push({ ...find(one), unit: path });
    }
    for (const one of directories) {
      const below = join(path, one);
      if (one === '.git' || secrets.includes(one) || skipped.includes(below)) continue;
      queue.push({ path: below, name: one, isPackage: isPackage || PACKAGES.has(name) });
    }
  }
  return found;
}

// Directories of hooks that the settings of a repository name, as `git config core.hooksPath` writes them.
function findHooks(worktree: string): readonly GuardedPath[] {
  const settings = orNothing(() => readTextFile(join(worktree, '.git', 'config'), MAX_SETTINGS)) ?? '';
  return [...settings.matchAll(/\bhookspath\s*=\s*"?([^"#;\n]+)/gi)].flatMap(([, value = '']) => {
    const path = resolve(worktree, value.trim());
    const real = isWithin(worktree, path) && path !== worktree ? realPath(path) : undefined;
    return real === undefined ? [] : [{ path, real }];
  });
}

function isThere(found: GuardedPath): found is FoundPath {
  return found.real !== undefined;
}

/** Returns what links in protected directories of a workdir lead to, which is used like what is in them. */
export function findTargets(guarded: readonly GuardedPath[], workdir: string): readonly GuardedPath[] {
  const targets: FoundPath[] = [];
  const seen = new Set<string>();
  const findPath = (path: string): string[] => {
    const real = realPath(path);
    if (real === undefined || PACKAGES.has(basename(real))) return [];
    targets.push({ path, real });
    return [real];
  };
  // Programs of packages lead to other packages, and of a repository only the hooks are links to programs.
  const queue = guarded.filter(isThere).flatMap(({ real, unit }: GuardedPath & FoundPath) => {
    if (unit !== undefined) return [];
    return list(real)?.kind === 'repository' ? findPath(join(real, 'hooks')) : real;
  });
  for (const path of queue) {
    if (seen.has(path) || !isWithin(workdir, path)) continue;
    if (seen.size >= MAX_DIRECTORIES) throw tooLarge(workdir);
    seen.add(path);
    const { directories = [], links = [] } = list(path) ?? {};
    queue.push(...directories.filter((name) => name !== '.git' && !PACKAGES.has(name)).map((name) => join(path, name)));
    queue.push(...links.flatMap((name) => findPath(join(path, name))));
  }
  return targets.filter(({ real }) => !guarded.some((one) => one.real !== undefined && isWithin(one.real, real)));
}

/** Returns other names of files, in directories that were walked. */
export function findLinked(files: readonly string[], directories: readonly string[]): string[] {
  const linked = new Set<string>();
  for (const path of files) {
    const stats = lstatOrNothing(path);
    if (stats?.isFile() && stats.nlink > 1) linked.add(`${stats.dev} ${stats.ino}`);
  }
  // Other files are looked at only if a secret has several names, which is rare.
  if (linked.size === 0) return [];
  return directories.flatMap((directory) =>
    (listFiles(directory) ?? []).filter(([, inode]) => linked.has(inode)).map(([path]) => path),
  );
}

const listFiles = createDirectoryCache((directory): readonly (readonly [path: string, inode: string])[] =>
  entriesOf(directory).flatMap((entry) => {
    const path = join(directory, entry.name);
    const stats = entry.isFile() ? lstatOrNothing(path) : undefined;
    return stats === undefined ? [] : [[path, `${stats.dev} ${stats.ino}`] as const];
  }),
);

function tooLarge(root: string): ToolError {
  const count = MAX_DIRECTORIES.toLocaleString('en');
  const message = `${quoteOutside(root)} has more than ${count} directories, too many to find the secrets in them`;
  return new ToolError('unavailable', message, {
    hint: 'use a smaller workdir, or hide directories that the tool does not need: [sandbox.NAME] deny = [...]',
    data: { path: root },
  });
}
