// What no sandboxed process can see, and what it cannot change, unless the configuration names it.

import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isRecord } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import { digestParts } from '../../files/digest.js';
import { createDirectoryCache } from '../../files/directory-cache.js';
import { lstatOrNothing, readStateFile, statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { SYSTEM_BIN } from '../environment.js';
import { findHomes, findProjects } from './homes.js';
import { type Found, type FoundPath, findLinked, findTargets, type GuardedPath } from './walk.js';

const OF_SYSTEM = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/krb5.keytab',
  '/etc/ssl/private',
  '/etc/wireguard',
  '/etc/NetworkManager/system-connections',
  '/etc/kubernetes',
  '/etc/rancher',
  '/etc/ssh/ssh_host_ecdsa_key',
  '/etc/ssh/ssh_host_ed25519_key',
  '/etc/ssh/ssh_host_rsa_key',
  // Sockets outside of /run whose users are as good as root.
  '/var/lib/incus/unix.socket',
  '/var/lib/lxd/unix.socket',
  '/var/snap/lxd/common/lxd/unix.socket',
];
// Searched for tools in the workdir itself.
const OF_WORKDIR = ['skills', 'tools'];

export interface SecretSearch {
  readonly wieldHome: string;
  readonly workdir: string;
  /** The outermost directory that is searched for secrets of the workdir. */
  readonly root: string;
  readonly found: Pick<Found, 'secrets' | 'directories'>;
  /** Files of the home whose other names are secrets, too. */
  readonly ofHome: readonly string[];
  readonly remembered: readonly RememberedLink[];
}

/** Returns the canonical paths of secrets that exist. */
export function findSecrets(search: SecretSearch): readonly string[] {
  const { wieldHome, found, ofHome, remembered } = search;
  const own = [...found.secrets, ...remembered.filter((link) => isOfProject(link, search))];
  const hidden = own.filter((one) => hidesTarget(one, search)).map(({ real }) => real);
  const paths = realPaths([wieldHome, ...OF_SYSTEM]);
  const links = realPaths(hidden);
  return [...new Set([...paths, ...links, ...findLinked([...paths, ...links, ...ofHome], found.directories)])];
}

type Project = Pick<SecretSearch, 'workdir' | 'root'>;

// EXE-80: a link hides something only in the project that it was found in, as long as it existed.
function isOfProject({ kind, path }: RememberedLink, { root }: Project): boolean {
  return kind === 'secret' && isWithin(root, path);
}

const PROGRAMS_OF_SYSTEM = /^\/(?:usr\/(?:local\/)?)?(?:s?bin|lib\w*)\/|^\/nix\//;

/** Whether a secret is hidden: by a link, neither the workdir nor programs, and of other places only files (EXE-80). */
export function hidesTarget({ path, real }: FoundPath, { workdir, root }: Project): boolean {
  if (path === real) return true;
  if (isWithin(root, real)) return !isWithin(real, workdir);
  return !PROGRAMS_OF_SYSTEM.test(real) && statOrNothing(real)?.isDirectory() !== true;
}

/** Returns the files of a workdir that make wield and other programs run code later. */
export function findGuarded(
  workdir: string,
  { guarded }: Pick<Found, 'guarded'>,
  places: readonly string[] = [],
): readonly GuardedPath[] {
  const known = OF_WORKDIR.map((name) => join(workdir, name));
  const named = places.filter((place) => !place.startsWith('~')).map((place) => resolve(workdir, place));
  const searched = [...known, ...named].filter((path) => path !== workdir && isWithin(workdir, path));
  // EXE-70: what starts a sandbox is there.
  const ofSystem = SYSTEM_BIN.filter((path) => isWithin(workdir, path));
  const toGuarded = (paths: readonly string[]): GuardedPath[] =>
    paths.filter((path) => lstatOrNothing(path) !== undefined).map((path) => ({ path, real: realPath(path) }));
  const all = [...guarded, ...toGuarded(searched)];
  const found = [...all, ...findTargets(all, workdir), ...toGuarded(ofSystem)];
  return [...new Map(found.map((one) => [one.path, one])).values()];
}

/** A path that led to a secret by a link when a process could write the link. */
export interface RememberedLink {
  readonly kind: 'secret' | 'deny';
  readonly path: string;
  readonly real: string;
  /** Where it is remembered, if it is. */
  readonly file?: string;
}

const directoryOf = (wieldHome: string): string => join(wieldHome, 'hidden-links');

/** Returns the links that were hidden before: a process that removes one does not uncover what it led to (EXE-80). */
export function readLinks(wieldHome: string): readonly RememberedLink[] {
  return listLinks(directoryOf(wieldHome)) ?? [];
}

/** Returns the links that hide something in a workdir although they were removed. */
export function findRemovedLinks(
  directory: string,
  { world, wieldHome }: { readonly world: World; readonly wieldHome: string },
): readonly RememberedLink[] {
  const workdir = realPath(directory) ?? directory;
  const project = { workdir, root: findProjects(workdir, findHomes(world.home)).at(-1)! };
  const isRemoved = ({ path, real }: RememberedLink): boolean =>
    realPath(path) !== real && statOrNothing(real) !== undefined;
  return readLinks(wieldHome).filter(
    (link) => isOfProject(link, project) && hidesTarget(link, project) && isRemoved(link),
  );
}

const listLinks = createDirectoryCache((directory): readonly RememberedLink[] =>
  readdirSync(directory).flatMap((name) => {
    const file = join(directory, name);
    const link: unknown = JSON.parse(readStateFile(file) ?? 'null');
    return isRecord(link) ? [{ ...link, file } as unknown as RememberedLink] : [];
  }),
);

/** Returns the files that have to exist before a process starts, so that the links are known later. */
export function toLinkFiles(links: readonly RememberedLink[], wieldHome: string): [file: string, text: string][] {
  return links.map(({ kind, path, real }) => {
    const file = join(directoryOf(wieldHome), digestParts([kind, path, real]).slice(0, 32));
    return [file, JSON.stringify({ kind, path, real })];
  });
}

function realPaths(paths: readonly string[]): string[] {
  return paths.flatMap((path) => realPath(path) ?? []);
}
