// Turns the profiles of a process into a launcher, by the first backend that can enforce them.

import { basename, dirname, join } from 'node:path';
import {
  type AppliedProfile,
  BUILTIN_PROFILES,
  type SandboxBackend,
  type SandboxPlan,
  type SandboxSettings,
} from '../../core/sandbox.js';
import { noSandbox } from '../../core/sandbox-text.js';
import type { World } from '../../core/world.js';
import { digestParts } from '../../files/digest.js';
import { findWieldHome } from '../../files/home.js';
import { statOrNothing } from '../../files/read.js';
import { isWithin, realPath } from '../../files/within.js';
import { isGranted, launcherSearch } from '../environment.js';
import { bubblewrapLauncher, SYSTEM } from './bubblewrap.js';
import { type LandlockOptions, landlockLauncher } from './landlock.js';
import { type BackendState, probeBackends } from './probe.js';
import { type Profile, resolveProfiles } from './profile.js';
import { seatbeltLauncher } from './seatbelt.js';
import { findGuarded, findSecrets } from './secrets.js';

export interface SandboxPlaces {
  readonly world: World;
  /** Where the state of wield is; found by the environment if absent. */
  readonly wieldHome?: string | undefined;
}

export interface SandboxedProcess {
  /** Used in messages. */
  readonly name: string;
  readonly workdir: string;
  /** Whether `--sandbox none` is not for it: a server, which other calls use, or a hook. */
  readonly isPermanent?: boolean;
  /** Programs and directories of its code, which must be readable. */
  readonly code: readonly string[];
  /** Directories of its own that it may write. */
  readonly state?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface PlannedSandbox {
  readonly sandbox: SandboxPlan;
  readonly environment: Readonly<Record<string, string>>;
}

/** Plans the sandbox of a process. Throws `unavailable` if a required profile is unknown or cannot be enforced. */
export async function planSandbox(
  applied: readonly AppliedProfile[],
  settings: SandboxSettings,
  target: SandboxedProcess,
  { world, wieldHome = findWieldHome(world.env, world.home) }: SandboxPlaces,
): Promise<PlannedSandbox> {
  const workdir = realPath(target.workdir) ?? target.workdir;
  const secrets = findSecrets({ home: world.home, wieldHome, workdir, now: world.now() });
  const places = { workdir, home: world.home, secrets, guarded: findGuarded(workdir, settings.places) };
  const profile = resolveProfiles(applied, settings, places);
  const name = [...new Set(applied.map((one) => one.profile))].join(' + ');
  const states = await probeBackends(world, wieldHome, workdir);
  const options = {
    profile,
    workdir,
    home: world.home === undefined ? undefined : (realPath(world.home) ?? world.home),
    expose: findExposed(target, profile, wieldHome),
    state: target.state,
    hiddenFile: join(wieldHome, 'cache', 'hidden'),
  };
  const rules = {
    profile: name,
    read: profile.read,
    write: profile.write,
    hidden: [...profile.secrets, ...profile.deny],
    denied: profile.deny,
    guarded: profile.guarded,
    network: profile.network,
    ...(profile.env === undefined ? {} : { env: profile.env }),
    dropped: Object.keys(target.environment).filter((one) => !isPassed(one, profile.env)),
    workdir,
    tables: findTables(applied, target.name, settings),
    byProject: applied.some(({ profile: one, by }) => by === 'project' || hasProjectTable(one, settings)),
  };
  for (const state of states) {
    const { backend, version } = state;
    const temporary = findTemporary(backend, target, wieldHome);
    const launcher = state.fault === null ? toLauncher(state, { ...options, temporary }, world) : undefined;
    if (launcher === undefined) continue;
    const prepare = [options.hiddenFile, ...(profile.write === 'all' ? [] : profile.write)];
    const passed = filterEnvironment(target.environment, profile.env);
    return {
      sandbox: { ...rules, backend, version, launcher, filter: state.filter, prepare, temporary },
      environment: temporary === undefined ? passed : { ...passed, TMPDIR: temporary },
    };
  }
  const reason = explain(states);
  if (applied.some(({ required }) => required)) throw noSandbox(target, name, reason);
  const none = { backend: 'none', version: null, reason, launcher: [], prepare: [] } as const;
  return { sandbox: { ...rules, ...none }, environment: target.environment };
}

// Bubblewrap has a /tmp of its own. The path is the same for every process of a tool, since hosts of modules are shared.
function findTemporary(
  backend: SandboxBackend,
  { name, workdir }: SandboxedProcess,
  wieldHome: string,
): string | undefined {
  if (backend !== 'landlock') return undefined;
  return join(wieldHome, 'cache', 'tmp', digestParts([name, workdir]).slice(0, 16));
}

// A rule with a built-in profile cannot be widened by a table; what a tool asks for is replaced by a table of its name.
function findTables(applied: readonly AppliedProfile[], name: string, { profiles }: SandboxSettings): string[] {
  const isBuiltin = (profile: string): boolean => (BUILTIN_PROFILES as readonly string[]).includes(profile);
  if (applied.some(({ by, profile }) => by === 'user' && isBuiltin(profile))) return [];
  const isOwn = (profile: string): boolean => profiles.get(profile)?.some(({ byProject }) => !byProject) === true;
  const names = applied
    .filter(({ by }) => by !== 'project')
    .map(({ by, profile }) => (by === 'user' || isOwn(profile) ? profile : name));
  return [...new Set(names.length === 0 ? [name] : names)];
}

function hasProjectTable(profile: string, { profiles }: SandboxSettings): boolean {
  return profiles.get(profile)?.some(({ byProject }) => byProject) === true;
}

function explain(states: readonly BackendState[]): string {
  return states.map(({ backend, fault }) => fault ?? `${backend} cannot separate the network`).join('; ');
}

function toLauncher(
  { backend, program, network, filter }: BackendState,
  options: Omit<LandlockOptions, 'program' | 'unshare'>,
  world: World,
): readonly string[] | undefined {
  const whole = { ...options, program: program!, filter };
  switch (backend) {
    case 'bubblewrap':
      return bubblewrapLauncher(whole);
    case 'seatbelt':
      return seatbeltLauncher(whole);
    case 'landlock':
      if (!options.profile.network && !network) return undefined;
      return landlockLauncher({ ...whole, unshare: launcherSearch(whole.workdir, world)('unshare') ?? '' });
  }
}

// Code that lies in a hidden place, or outside of what a profile lists.
function findExposed({ code }: SandboxedProcess, { read, secrets }: Profile, wieldHome: string): string[] {
  const isHidden = (path: string): boolean => isWithin(realPath(wieldHome) ?? wieldHome, path);
  const isListed = (path: string): boolean =>
    read === 'all' || [...SYSTEM, ...read].some((root) => isWithin(root, path));
  const paths = code.flatMap((path) => realPath(path) ?? []).flatMap((path) => toInstallation(path, secrets));
  return [...new Set(paths.filter((path) => isHidden(path) || !isListed(path)))];
}

// A program in `PREFIX/bin` needs the libraries beside it. A prefix such as the home may have secrets, too.
function toInstallation(path: string, secrets: readonly string[]): string[] {
  const directory = dirname(path);
  const prefix = dirname(directory);
  const libraries = join(prefix, 'lib');
  const isPrefix = basename(directory) === 'bin' && statOrNothing(libraries)?.isDirectory() === true;
  if (!isPrefix || statOrNothing(path)?.isFile() !== true) return [path];
  return secrets.some((secret) => isWithin(prefix, secret)) ? [path, libraries] : [prefix];
}

const ALWAYS = /^(?:PATH|HOME|USER|LANG|TERM|TZ|TMPDIR|LC_.*|WIELD_.*|OCTOMIND_.*)$/;

function filterEnvironment(
  environment: Readonly<Record<string, string>>,
  names: readonly string[] | undefined,
): Readonly<Record<string, string>> {
  if (names === undefined) return environment;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isPassed(name, names)));
}

function isPassed(name: string, names: readonly string[] | undefined): boolean {
  return names === undefined || ALWAYS.test(name) || isGranted(name, names);
}
