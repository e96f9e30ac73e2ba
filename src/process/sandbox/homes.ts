// Home directories, which are closed in a sandbox, and what is open in them: the project, programs and their libraries.

import { readFileSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { orNothing } from '../../core/error.js';
import { words } from '../../core/text.js';
import { createDirectoryCache } from '../../files/directory-cache.js';
import { entriesOf, namesIn } from '../../files/list.js';
import { readHead, statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { RUN, SYSTEM, TEMPORARY } from './places.js';

const PARENTS = ['/home', '/root', '/Users', '/var/root'];
const ACCOUNTS = '/etc/passwd';
const [FIRST_USER, NOBODY] = [1000, 65_534];

/** Returns the canonical home directories of this machine. */
export function findHomes(home: string | undefined): readonly string[] {
  const all = [...PARENTS, ...(home === undefined ? [] : [home]), ...(accountHomes('/etc') ?? [])];
  const real = [...new Set(all)].flatMap((path) => (statOrNothing(path)?.isDirectory() ? (realPath(path) ?? []) : []));
  // Some accounts have the home `/` or `/tmp`, and some images keep that of a user in a directory of the system.
  const isUsed = (path: string): boolean => [...SYSTEM, RUN, ...TEMPORARY].some((one) => isWithin(path, one));
  return [...new Set(real)].filter((path) => !isUsed(path));
}

const accountHomes = createDirectoryCache((): readonly string[] => {
  const accounts = orNothing(() => readFileSync(ACCOUNTS, 'utf8')) ?? '';
  return accounts.split('\n').flatMap((line) => {
    const [, , uid, , , home = ''] = line.split(':');
    const isUser = uid === '0' || (Number(uid) >= FIRST_USER && Number(uid) < NOBODY);
    return isUser && isAbsolute(home) ? [home] : [];
  });
});

// Programs that users install in their home, without the settings and credentials beside them.
const PROGRAMS = words(`
  bin .bin .local/bin .local/lib .local/opt go/bin go/pkg go/sdk sdk .goenv .gvm .nvm .fnm .local/share/fnm
  .local/state/fnm_multishells .volta .n n .nodenv .nodebrew .local/share/pnpm .npm-global .npm-packages .yarn
  .config/yarn/global .bun .deno/bin .asdf .local/share/mise .local/share/rtx .proto .local/share/aquaproj-aqua
  .pkgx .pixi .pyenv .local/share/uv/python .local/share/uv/tools .local/pipx .local/share/pipx .rye .poetry
  .local/share/pypoetry/venv .local/share/virtualenvs .virtualenvs .conda/envs miniconda3 anaconda3 miniforge3
  mambaforge micromamba .rustup .cargo/bin .cargo/env .cargo/registry .cargo/git .rbenv .rvm .rubies .gem/ruby
  .local/share/gem/ruby .bundle/cache .phpenv .composer/vendor .config/composer/vendor perl5 .plenv .luarocks .jenv
  .jdks .sdkman/candidates .jbang/bin .m2/repository .m2/wrapper .gradle/wrapper .gradle/jdks .ivy2/cache
  .cache/coursier .konan .dotnet/dotnet .dotnet/host .dotnet/shared .dotnet/sdk .dotnet/packs .dotnet/tools
  .nuget/packages .ghcup .cabal/bin .cabal/packages .stack/programs .opam .elan .juliaup .julia/juliaup
  .julia/packages .julia/artifacts .swiftly .local/share/swiftly .zvm .zig .pub-cache flutter Android/Sdk
  .foundry/bin .tfenv .krew .arkade/bin .nix-profile .linuxbrew .local/share/bob .cache/ms-playwright
  .cache/puppeteer
`);
const HOMEBREW = '/home/linuxbrew/.linuxbrew';
/** Directories of a home that many programs fail without. */
const CACHES = ['.cache', '.npm'];

export interface HomeContext {
  readonly home: string | undefined;
  /** Closed homes. */
  readonly homes: readonly string[];
  readonly workdir: string;
  readonly path: string | undefined;
}

/** Returns what is open in closed homes and private directories besides the project. */
export function findPrograms({ home, homes, workdir, path }: HomeContext): readonly string[] {
  const isClosed = (one: string): boolean => [...homes, ...TEMPORARY, RUN].some((place) => isWithin(place, one));
  const searched = (path ?? '').split(delimiter).filter((one) => isAbsolute(one));
  // EXE-81: a process may have left links in a directory of the workdir.
  const onPath = searched.filter((one) => !isWithin(workdir, one) && !isWithin(workdir, realPath(one) ?? one));
  // Root may use the programs of a user, and the other way round.
  const used = homes.filter((one) => one === home || onPath.some((directory) => isWithin(one, directory)));
  const own = used.flatMap((one) => listPrograms(one) ?? []);
  const found = onPath.flatMap((one) => [...(isClosed(one) ? [one] : []), ...(listTargets(one) ?? [])]);
  const installed = found.flatMap((one) => toInstallations(one, homes));
  const all = [...own, ...(homes.length === 0 ? [] : [HOMEBREW]), ...installed];
  const isUsable = (one: string): boolean =>
    isClosed(one) && ![...homes, ...TEMPORARY, RUN, workdir].some((place) => isWithin(one, place));
  return [...new Set(all)].filter((one) => isUsable(one) && statOrNothing(one) !== undefined);
}

export function findCaches(home: string | undefined, homes: readonly string[]): readonly string[] {
  return home === undefined || !homes.includes(home) ? [] : CACHES.map((name) => join(home, name));
}

const listPrograms = createDirectoryCache((home): readonly string[] => {
  const names = new Set(namesIn(home));
  return PROGRAMS.filter((path) => names.has(path.split('/', 1)[0]!)).map((path) => join(home, path));
});

// Programs that links in a directory of the search path lead to.
const listTargets = createDirectoryCache((directory): readonly string[] => {
  const targets = readLinks(directory).flatMap((path) => {
    const real = realPath(path);
    const stats = real === undefined ? undefined : statOrNothing(real);
    return stats?.isFile() && (stats.mode & 0o111) !== 0 && !isWithin(directory, real!) ? [real!] : [];
  });
  return [...new Set(targets)].filter((path) => !SYSTEM.some((one) => isWithin(one, path)));
});

function readLinks(directory: string): string[] {
  // Most of the search path belongs to the system, whose links lead to the system.
  if (SYSTEM.some((one) => isWithin(one, directory))) return [];
  const links = entriesOf(directory).filter((entry) => entry.isSymbolicLink());
  return links.map(({ name }) => join(directory, name));
}

/** Returns a program or directory as named and in its canonical place, with the libraries beside it. */
export function toInstallations(path: string, homes: readonly string[]): string[] {
  const real = realPath(path);
  return real === undefined ? [] : [...new Set([path, real].flatMap((one) => toInstallation(one, homes)))];
}

// A program in `PREFIX/bin` needs what is beside it. A prefix such as the home has more than that.
function toInstallation(path: string, homes: readonly string[]): string[] {
  const directory = statOrNothing(path)?.isFile() ? dirname(path) : path;
  const prefix = dirname(directory);
  const libraries = join(prefix, 'lib');
  const isPrefix = basename(directory) === 'bin' && statOrNothing(libraries)?.isDirectory() === true;
  if (!isPrefix) return [path];
  const isOfUser = [...homes.map((home) => join(home, '.local')), ...homes, ...TEMPORARY].some((one) =>
    isWithin(prefix, one),
  );
  return isOfUser ? [path, libraries] : [prefix];
}

/** Returns the repositories around a workdir, the closest first; the workdir itself if there is none, or if that is a home. */
export function findProjects(workdir: string, homes: readonly string[]): readonly [string, ...string[]] {
  const found: string[] = [];
  for (let at = workdir; at !== dirname(at) && !homes.some((home) => isWithin(at, home)); at = dirname(at)) {
    if (statOrNothing(join(at, '.git')) !== undefined) found.push(at);
  }
  const [closest = workdir, ...others] = found;
  return [closest, ...others];
}

/** Returns the git directories that belong to a work tree and are elsewhere. They name the work tree, too. */
export function findGitDirectories(project: string): readonly string[] {
  const directory = readPointer(join(project, '.git'), project);
  if (directory === undefined) return [];
  const [, named] = /^\s*worktree\s*=\s*(.+)$/m.exec(readSmall(join(directory, 'config')) ?? '') ?? [];
  // Of `worktree.useRelativePaths` relative to the directory.
  const link = readSmall(join(directory, 'gitdir'))?.trim();
  const isLinked = link !== undefined && resolve(directory, link) === join(project, '.git');
  if (!isLinked && (named === undefined || realPath(resolve(directory, named.trim())) !== project)) return [];
  const common = readSmall(join(directory, 'commondir'));
  const shared = common === undefined ? undefined : realPath(resolve(directory, common.trim()));
  // A repository contains the directories of its work trees; anyone can write a file that names another repository.
  const isShared = shared !== undefined && dirname(directory) === join(shared, 'worktrees') && isRepository(shared);
  return isShared ? [directory, shared] : [directory];
}

function readPointer(file: string, project: string): string | undefined {
  if (statOrNothing(file)?.isFile() !== true) return undefined;
  const [, target] = /^gitdir: (.+)$/m.exec(readSmall(file) ?? '') ?? [];
  return target === undefined ? undefined : realPath(resolve(project, target.trim()));
}

function isRepository(directory: string): boolean {
  return ['HEAD', 'objects', 'refs'].every((name) => statOrNothing(join(directory, name)) !== undefined);
}

function readSmall(file: string): string | undefined {
  const reading = readHead(file, 64 * 1024);
  return 'fault' in reading ? undefined : reading.bytes.toString('utf8');
}

// Used by git itself, and without values of their own.
const OPEN_IN_HOME = new Set(['.git', '.gitignore', '.github', '.editorconfig']);
const CLOSED_IN_HOME = new Set(['Library', 'snap']);

/** Returns what is closed in a home that is a workdir, or that a table names: all settings. */
export const listSettings = createDirectoryCache((home): readonly string[] =>
  namesIn(home)
    .filter((name) => CLOSED_IN_HOME.has(name) || (name.startsWith('.') && !OPEN_IN_HOME.has(name)))
    .map((name) => join(home, name)),
);
