// Turns the profiles of a process into a launcher, by the first backend that can enforce them.

import { join } from 'node:path';
import type { PlanSnapshot } from '../../core/executor.js';
import type { ModulePlan, ProcessPlan } from '../../core/plan.js';
import {
  BUILTIN_PROFILES,
  type SandboxBackend,
  type SandboxPlan,
  type SandboxRules,
  type SandboxSearch,
  type SandboxSettings,
} from '../../core/sandbox.js';
import type { World } from '../../core/snapshot.js';
import { digestParts } from '../../files/digest.js';
import { findWieldHome } from '../../files/home.js';
import { isWithin, realPath } from '../../files/within.js';
import { isGranted } from '../environment.js';
import { type AppliedProfile, profilesOf } from './applied.js';
import { bubblewrapLauncher } from './bubblewrap.js';
import { egressStarter, PROXY_VARIABLES } from './egress.js';
import {
  findCaches,
  findGitDirectories,
  findHomes,
  findPrograms,
  findProjects,
  type HomeContext,
  listSettings,
  toInstallations,
} from './homes.js';
import { type LandlockOptions, landlockLauncher } from './landlock.js';
import { RUN, TEMPORARY } from './places.js';
import { type BackendState, probeBackends } from './probe.js';
import { resolveProfiles, toPath } from './profile.js';
import { isVisible, toRules } from './rules.js';
import { seatbeltLauncher } from './seatbelt.js';
import { findGuarded, findSecrets, hidesTarget, readLinks, toLinkFiles } from './secrets.js';
import { noSandbox } from './text.js';
import { walk } from './walk.js';

export interface SandboxContext {
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

/** Returns the plan with its sandbox, if it has one; `code` are the programs and directories that its process needs. */
export async function withSandbox<P extends ProcessPlan | ModulePlan>(
  plan: P,
  { workdir, settings }: PlanSnapshot,
  code: readonly string[],
  places: SandboxContext,
): Promise<P> {
  const applied = profilesOf(plan.tool, settings.sandbox);
  if (applied.length === 0) return plan;
  const target = { name: plan.tool.name, workdir, code, environment: plan.environment };
  return { ...plan, ...(await planSandbox(applied, settings.sandbox, target, places)) };
}

/** Plans the sandbox of a process. Throws `unavailable` if a required profile is unknown or cannot be enforced. */
export async function planSandbox(
  applied: readonly AppliedProfile[],
  settings: SandboxSettings,
  target: SandboxedProcess,
  { world, wieldHome = findWieldHome(world.env, world.home) }: SandboxContext,
): Promise<PlannedSandbox> {
  const workdir = realPath(target.workdir) ?? target.workdir;
  const home = world.home === undefined ? undefined : (realPath(world.home) ?? world.home);
  const homes = findHomes(home);
  const search = toSearch(applied, settings, { workdir, home, homes });
  const found = await walk(search);
  const remembered = readLinks(wieldHome);
  const ofHome = home === undefined ? [] : (listSettings(home) ?? []);
  const projects = findProjects(workdir, homes);
  const ofProject = { workdir, root: projects.at(-1)! };
  const secrets = findSecrets({ ...ofProject, wieldHome, found, ofHome, remembered });
  const guarded = findGuarded(workdir, found, settings.places);
  const profile = resolveProfiles(applied, settings, { workdir, home, homes, secrets, guarded, remembered });
  const name = [...new Set(applied.map((one) => one.profile))].join(' + ');
  const states = await probeBackends(world, wieldHome, workdir);
  const [project] = projects;
  const places = { home, homes: profile.homes, workdir, path: target.environment.PATH };
  const open = {
    project: [project, workdir],
    programs: [...findPrograms(places), ...findGitDirectories(project)],
    caches: findCaches(home, profile.homes),
  };
  const starter = typeof profile.network === 'boolean' ? undefined : egressStarter();
  const expose = findExposed([...target.code, ...(starter ?? [])], toRules({ profile, open }), homes);
  const options = {
    profile,
    rules: toRules({ profile, open, expose, state: target.state }),
    hiddenFile: join(wieldHome, 'cache', 'hidden'),
  };
  const links = found.secrets.filter((one) => one.path !== one.real && hidesTarget(one, ofProject));
  const shown = {
    profile: name,
    read: profile.read,
    write: profile.write,
    hidden: [...options.rules].filter(([, access]) => access === 'hidden').map(([path]) => path),
    rules: options.rules,
    searched: { ...search, found: new Map(guarded.map(({ path, real }) => [path, real])) },
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
    const launcher = state.fault === null ? toLauncher(state, { ...options, temporary }) : undefined;
    if (launcher === undefined) continue;
    const remember = toLinkFiles(
      [...links.map((one) => ({ kind: 'secret', ...one }) as const), ...profile.links],
      wieldHome,
    );
    const prepare = [options.hiddenFile, ...(profile.write === 'all' ? [] : profile.write)];
    const passed = filterEnvironment(target.environment, profile.env);
    return {
      sandbox: {
        ...{ ...shown, backend, version, launcher, filter: state.filter, prepare, remember, temporary },
        ...(starter && { starter }),
      },
      environment: {
        ...passed,
        ...(temporary === undefined ? {} : { TMPDIR: temporary }),
        ...(starter && PROXY_VARIABLES),
      },
    };
  }
  const reason = explain(states, starter !== undefined);
  if (applied.some(({ required }) => required)) throw noSandbox(target, name, reason);
  const none = { backend: 'none', version: null, reason, launcher: [], prepare: [] } as const;
  return { sandbox: { ...shown, ...none }, environment: target.environment };
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

function explain(states: readonly BackendState[], hasHosts: boolean): string {
  const limit = hasHosts ? 'limit the network to some hosts' : 'separate the network';
  return states.map(({ backend, fault }) => fault ?? `${backend} cannot ${limit}`).join('; ');
}

function toLauncher(
  { backend, program, network, filter }: BackendState,
  options: Omit<LandlockOptions, 'program' | 'unshare'>,
): readonly string[] | undefined {
  const whole = { ...options, program: program!, filter };
  // Only bubblewrap makes a network with an address of its own.
  if (typeof options.profile.network !== 'boolean' && backend !== 'bubblewrap') return undefined;
  switch (backend) {
    case 'bubblewrap':
      return bubblewrapLauncher(whole);
    case 'seatbelt':
      return seatbeltLauncher(whole);
    case 'landlock':
      if (!options.profile.network && network === null) return undefined;
      return landlockLauncher({ ...whole, unshare: network ?? [] });
  }
}

// EXE-82: what runs can be read wherever it is.
function findExposed(code: readonly string[], rules: SandboxRules, homes: readonly string[]): string[] {
  // A program by itself, too: a link of a project may hide it in its installation.
  const paths = code.flatMap((path) => [realPath(path) ?? path, ...toInstallations(path, homes)]);
  const isHome = (path: string): boolean => [...homes, ...TEMPORARY, RUN].some((home) => isWithin(path, home));
  return [...new Set(paths)].filter((path) => !isVisible(rules, path) && !isHome(path));
}

// Where a project is searched for secrets. What tables deny is skipped: nothing of it is visible.
function toSearch(
  applied: readonly AppliedProfile[],
  { profiles, places = [] }: SandboxSettings,
  { workdir, home, homes }: Omit<HomeContext, 'path'>,
): Omit<SandboxSearch, 'found'> {
  const tables = applied.flatMap(({ profile }) => profiles.get(profile) ?? []);
  const isListed = tables.some(({ read }) => read !== undefined && !read.includes('/'));
  const denied = tables.flatMap(({ deny = [] }) => deny.map((path) => toPath(path, { workdir, home })));
  const closed = homes.includes(workdir) ? (listSettings(workdir) ?? []) : [];
  const skipped = [...denied, ...homes, ...closed].filter((path) => path !== workdir);
  // The outermost repository: a process may have made one in its workdir.
  return { root: isListed ? workdir : findProjects(workdir, homes).at(-1)!, skipped, places };
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
