// Profiles: built-in ones, tables of the configuration, and what several of them allow together.

import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { meetNetworks, type SandboxNetwork } from '../../core/hosts.js';
import { CLOSED_PROFILES, type SandboxSettings, type SandboxTable } from '../../core/sandbox.js';
import { didYouMean, quoteOutside } from '../../core/text.js';
import { expandHome } from '../../files/home.js';
import { isWithin, realPath } from '../../files/within.js';
import { isGranted } from '../environment.js';
import type { AppliedProfile } from './applied.js';
import { listSettings } from './homes.js';
import { RUN, TEMPORARY } from './places.js';
import type { RememberedLink } from './secrets.js';
import type { GuardedPath } from './walk.js';

type Paths = 'all' | readonly string[];

/** What a process may touch. Paths are absolute and canonical. */
export interface Profile {
  readonly read: Paths;
  readonly write: Paths;
  /** Home directories, hidden but for what is open in them (EXE-81). */
  readonly homes: readonly string[];
  /** Hidden unless a path in them is named. */
  readonly secrets: readonly string[];
  /** Paths in homes and secrets that are named, and visible therefore. */
  readonly named: readonly string[];
  /** Paths to read that are named in places of which a process has its own, such as `/run`. */
  readonly shown: readonly string[];
  /** Hidden in any case. */
  readonly deny: readonly string[];
  /** Read-only although they are in what can be written. */
  readonly guarded: readonly string[];
  /** Denied paths that are links. */
  readonly links: readonly RememberedLink[];
  readonly network: SandboxNetwork;
  /** Names of variables that are passed on, as in `env.pass`; undefined: all. */
  readonly env?: readonly string[];
}

export interface ProfileContext {
  readonly workdir: string;
  readonly home: string | undefined;
  readonly homes: readonly string[];
  /** Known secrets on this machine. */
  readonly secrets: readonly string[];
  /** Files of the workdir that make other programs run code later. */
  readonly guarded: readonly GuardedPath[];
  /** Links that were hidden before. */
  readonly remembered: readonly RememberedLink[];
}

/** Returns what profiles allow together. Throws `unavailable` for an unknown one. */
export function resolveProfiles(
  applied: readonly AppliedProfile[],
  settings: SandboxSettings,
  context: ProfileContext,
): Profile {
  return applied.map((one) => resolveProfile(one, settings, context)).reduce(combine);
}

function resolveProfile({ profile: name, by }: AppliedProfile, { profiles }: SandboxSettings, context: ProfileContext) {
  const tables = profiles.get(name) ?? [];
  const builtin = toBuiltin(name, context);
  // A project must not define what the user refers to.
  const isDefined = by === 'user' ? tables.some(({ byProject }) => !byProject) : tables.length > 0;
  if (builtin === undefined && !isDefined) throw unknownProfile(name, profiles);
  const own = tables.map((table) => toProfile(name, table, context));
  return [...(builtin === undefined ? [] : [builtin]), ...own].reduce(combine);
}

function toBuiltin(name: string, context: ProfileContext): Profile | undefined {
  const workdir = canonical(context.workdir);
  const base: Profile = {
    ...{ read: 'all', write: [], ...toHidden(context, []), named: [], shown: [], deny: [], links: [] },
    ...{ guarded: context.guarded.flatMap(({ real }) => real ?? []), network: false },
  };
  switch (name) {
    case 'read-only':
      return base;
    case 'workdir':
      return { ...base, write: [workdir] };
    case 'no-network':
      return { ...base, write: 'all' };
  }
  return undefined;
}

// EXE-74: a directory around a secret does not name it. In a home that is open, settings are secrets.
function toHidden({ workdir, homes, secrets }: ProfileContext, named: readonly string[]) {
  const open = homes.filter((home) => home === workdir || named.includes(home));
  const settings = open.flatMap((home) => listSettings(home) ?? []);
  return {
    homes: homes.filter((home) => !open.includes(home)),
    secrets: [...new Set([...secrets, ...settings])].filter((secret) => !named.includes(secret)),
  };
}

function toProfile(
  name: string,
  { read, write, deny = [], network = false, env }: SandboxTable,
  context: ProfileContext,
): Profile {
  const { workdir } = context;
  assertPaths(name, [...(read ?? []), ...(write ?? []), ...deny], context);
  const toPaths = (paths: readonly string[]): string[] =>
    paths.map((path) => assertInside(name, path, toPath(path, context), workdir));
  const readable = toPaths(read ?? ['/']);
  const writes = write === undefined ? [canonical(workdir)] : toPaths(write);
  const named = [...readable, ...writes].map((path) => path.replace(/(?<=.)\/$/, ''));
  const hidden = toHidden(context, named);
  const denied = deny.map((path) => ({ path: toLexical(path, context), real: toPath(path, context) }));
  const known = context.remembered.filter(
    ({ kind, path }) => kind === 'deny' && denied.some((one) => one.path === path),
  );
  return {
    read: readable.includes('/') ? 'all' : [canonical(workdir), ...readable],
    write: writes.includes('/') ? 'all' : writes,
    ...hidden,
    named: named.filter((path) =>
      [...context.homes, ...hidden.secrets, ...context.secrets].some((one) => isWithin(one, path)),
    ),
    shown: readable.filter((path) => [RUN, ...TEMPORARY].some((place) => path !== place && isWithin(place, path))),
    deny: [...new Set([...denied, ...known].map(({ real }) => real))],
    links: denied.filter(({ path, real }) => path !== real).map((one) => ({ kind: 'deny', ...one })),
    // A directory around one does not name it, but for that of packages.
    guarded: context.guarded
      .filter((one) => ![one.real, one.unit].some((path) => path !== undefined && named.includes(path)))
      .flatMap(({ real }) => real ?? []),
    network: meetNetworks(network, true),
    env,
  };
}

function assertPaths(profile: string, paths: readonly string[], context: ProfileContext): void {
  for (const path of paths) {
    const fault = findPathFault(path, context);
    if (fault === undefined) continue;
    throw new ToolError('unavailable', `the sandbox profile "${profile}" has ${fault}: ${quoteOutside(path)}`, {
      hint: 'write the paths of files and directories, absolute, below ~ or the workdir; a directory includes what is in it',
      data: { sandbox: { profile, backend: 'none' } },
    });
  }
}

/** Returns what a path is that would be the name of a file that does not exist, and hide nothing. */
export function findPathFault(path: string, context: Starts): string | undefined {
  const isVariable = path.includes('$');
  const isUser = /^~[^/]/.test(path);
  if (!isVariable && !isUser && !/[*?]|\[.*\]|\{.*\}/.test(path)) return undefined;
  if (realPath(toPath(path, context)) !== undefined) return undefined;
  return isVariable ? 'a variable' : isUser ? 'the home of another user' : 'a pattern';
}

type Starts = Pick<ProfileContext, 'workdir' | 'home'>;

function toLexical(path: string, { workdir, home }: Starts): string {
  return resolve(workdir, expandHome(path, home));
}

/** Returns the canonical path of one in a table. */
export function toPath(path: string, context: Starts): string {
  const absolute = canonical(toLexical(path, context));
  // The slash says that a missing path becomes a directory.
  return path.endsWith('/') && realPath(absolute) === undefined ? `${absolute}/` : absolute;
}

// EXE-70: a link of a checkout, or of a tool that writes it, does not choose what a profile allows.
function assertInside(profile: string, path: string, real: string, workdir: string): string {
  const isNamed = isAbsolute(path) || path.startsWith('~') || !isWithin(workdir, resolve(workdir, path));
  if (isNamed || isWithin(canonical(workdir), real)) return real;
  const shown = quoteOutside(path);
  throw new ToolError('path_escape', `the sandbox profile "${profile}" allows ${shown}, a link out of the workdir`, {
    hint: `remove the link, or allow its target by name: ${quoteOutside(real)}`,
    data: { sandbox: { profile, backend: 'none' } },
  });
}

// A path that does not exist yet has a canonical directory.
function canonical(path: string): string {
  const real = realPath(path);
  if (real !== undefined) return real;
  const plain = resolve(path);
  const parent = realPath(dirname(plain));
  return parent === undefined ? plain : join(parent, basename(plain));
}

/** What two profiles both allow. */
function combine(a: Profile, b: Profile): Profile {
  return {
    read: meet(a.read, b.read),
    write: meet(a.write, b.write),
    homes: [...new Set([...a.homes, ...b.homes])],
    secrets: [...new Set([...a.secrets, ...b.secrets])],
    named: meetLists(a.named, b.named),
    shown: meetLists(a.shown, b.shown),
    deny: [...new Set([...a.deny, ...b.deny])],
    guarded: [...new Set([...a.guarded, ...b.guarded])],
    links: [...a.links, ...b.links],
    network: meetNetworks(a.network, b.network),
    env: a.env === undefined ? b.env : b.env === undefined ? a.env : meetNames(a.env, b.env),
  };
}

function meetNames(a: readonly string[], b: readonly string[]): readonly string[] {
  return [...new Set([...a.filter((name) => isGranted(name, b)), ...b.filter((name) => isGranted(name, a))])];
}

function meet(a: Paths, b: Paths): Paths {
  if (a === 'all') return b;
  return b === 'all' ? a : meetLists(a, b);
}

function meetLists(a: readonly string[], b: readonly string[]): readonly string[] {
  const inside = (paths: readonly string[], others: readonly string[]): string[] =>
    paths.filter((path) => others.some((other) => isWithin(other, path)));
  return [...new Set([...inside(a, b), ...inside(b, a)])];
}

function unknownProfile(name: string, profiles: SandboxSettings['profiles']): ToolError {
  const known = [...CLOSED_PROFILES, ...profiles.keys()];
  return new ToolError('unavailable', `unknown sandbox profile "${name}"`, {
    hint: didYouMean(name, known, `known profiles: ${known.join(', ')}`),
    data: { sandbox: { profile: name, backend: 'none' } },
  });
}
