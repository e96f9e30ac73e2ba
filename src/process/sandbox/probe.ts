// Finds out which backends work on this machine, by running something in each. The answer is kept until the next boot.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxBackend } from '../../core/sandbox.js';
import { list, number, object, optional, string, table } from '../../core/shape.js';
import type { World } from '../../core/snapshot.js';
import { readStateAs, statIdentity } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { createStateDirectory } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import { launcherSearch } from '../environment.js';
import { readProc } from '../proc.js';
import { bubblewrapLauncher } from './bubblewrap.js';
import { createFilter, filterFile } from './filter.js';
import { landlockLauncher } from './landlock.js';
import type { Profile } from './profile.js';
import { NOTHING_OPEN, toRules } from './rules.js';
import { seatbeltLauncher } from './seatbelt.js';
import { proveLauncher, readVersion, type Trial, UNPROVEN } from './try-launcher.js';

/** A backend on this machine. */
export interface BackendState {
  readonly backend: Exclude<SandboxBackend, 'none'>;
  readonly program: string | null;
  readonly version: string | null;
  /** Why it does not work; null if it does. */
  readonly fault: string | null;
  /** What a person can do about it. */
  readonly remedy: string | null;
  /** What separates the network, before its own arguments; null if nothing can. */
  readonly network: readonly string[] | null;
  /** The seccomp filter that it installs. */
  readonly filter?: string | undefined;
  /** A program could not be started or did not answer, which can change. */
  readonly isUncertain?: boolean;
}

// The version of what is tried.
const PROBE = 2;
// How long an uncertain answer is kept.
const UNCERTAIN_MS = 60_000;

const NOTHING: Profile = {
  ...{ read: 'all', write: [], homes: [], secrets: [], named: [], shown: [], deny: [], guarded: [], links: [] },
  network: false,
};
const AGAIN = 'the machine may be too busy; it is tried again after a minute';
const INSTALL = 'install it: apt install bubblewrap, dnf install bubblewrap, or pacman -S bubblewrap';
const REINSTALL = 'check which program that is, and install the one of your distribution';
// Ubuntu 24.04 and newer allow user namespaces to programs with a profile only.
const APPARMOR_LIMIT = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';
const APPARMOR =
  'give it the AppArmor profile of your distribution: apt install apparmor-profiles, then ' +
  'ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and systemctl reload apparmor';

/** Returns the backends in the order in which they are tried. */
export async function probeBackends(
  world: World,
  wieldHome: string,
  workdir: string,
  { isFresh = false } = {},
): Promise<readonly BackendState[]> {
  const isMac = world.platform === 'darwin';
  const names = isMac ? ['sandbox-exec'] : ['bwrap', 'setpriv', 'unshare'];
  const programs = names.map(launcherSearch(workdir, world)).map((program) => program ?? null);
  const filter = isMac ? undefined : filterFile(wieldHome);
  const identities = programs.map((program) => program && [program, statIdentity(program)]);
  const key = JSON.stringify([
    PROBE,
    readProc('/proc/sys/kernel/random/boot_id'),
    process.getuid?.(),
    filter,
    identities,
  ]);
  const file = join(wieldHome, 'cache', 'sandbox.json');
  if (!isFresh) {
    const kept = readKept(file, key, world.now());
    if (kept !== undefined) return kept;
  }
  if (filter !== undefined) createFilter(filter);
  createStateDirectory(wieldHome);
  createStateDirectory(join(wieldHome, 'cache'));
  const canary = join(wieldHome, 'cache', `canary-${process.pid}`);
  writeFileSync(canary, 'canary\n', { mode: 0o600 });
  const states = await probeAll(programs, { canary, filter, world }).finally(() => removeFile(canary));
  try {
    const until = states.some(({ isUncertain }) => isUncertain) ? { until: world.now() + UNCERTAIN_MS } : {};
    writeFileAtomic(file, JSON.stringify({ key, states, ...until }), { mode: 0o600 });
  } catch (error) {
    world.debug(`sandbox: the probe could not be kept: ${(error as Error).message}`);
  }
  return states;
}

const KEPT = object({ key: string, states: list(table), until: optional(number) }, { unknown: 'drop' });

function readKept(file: string, key: string, now: number): readonly BackendState[] | undefined {
  const kept = readStateAs(KEPT, file);
  if (kept?.key !== key) return undefined;
  // A clock that was set back must not keep it longer.
  const left = kept.until === undefined ? 1 : kept.until - now;
  return left > 0 && left <= UNCERTAIN_MS ? (kept.states as unknown as readonly BackendState[]) : undefined;
}

interface ProbeOptions {
  /** A file that must not be readable. */
  readonly canary: string;
  readonly filter: string | undefined;
  readonly world: World;
}

type Programs = readonly (string | null)[];

async function probeAll([first = null, setpriv = null, unshare = null]: Programs, options: ProbeOptions) {
  if (options.world.platform === 'darwin') return [await probeSeatbelt(first, options)];
  return [await probeBubblewrap(first, options), await probeLandlock(setpriv, unshare, options)];
}

function toOptions(program: string, canary: string, network = false) {
  const profile = { ...NOTHING, secrets: [canary], network };
  return { program, profile, rules: toRules({ profile, open: NOTHING_OPEN }), hiddenFile: '/dev/null' };
}

async function probeBubblewrap(program: string | null, options: ProbeOptions): Promise<BackendState> {
  const { canary, filter, world } = options;
  const base = { backend: 'bubblewrap' as const, program, network: [], filter };
  if (program === null) return { ...base, version: null, fault: 'bubblewrap is not installed', remedy: INSTALL };
  const version = await readVersion(program, world);
  const launcher = bubblewrapLauncher({ ...toOptions(program, canary), filter });
  const { fault, isUncertain } = await proveLauncher(launcher, canary, world, { filter, isOffline: true });
  const limit = readProc(APPARMOR_LIMIT)?.trim() === '1' ? APPARMOR : 'allow user namespaces for bubblewrap';
  const remedy = fault === null ? null : isUncertain ? AGAIN : fault.startsWith(UNPROVEN) ? REINSTALL : limit;
  return { ...base, version, fault: fault && `bubblewrap does not work here: ${fault}`, remedy, isUncertain };
}

async function probeLandlock(
  setpriv: string | null,
  unshare: string | null,
  { canary, filter, world }: ProbeOptions,
): Promise<BackendState> {
  const base = { backend: 'landlock' as const, program: setpriv, network: null };
  const remedy = 'it needs Linux 5.13 with Landlock, and setpriv of util-linux 2.40 or newer';
  if (setpriv === null) return { ...base, version: null, fault: 'setpriv is not installed', remedy };
  const version = await readVersion(setpriv, world);
  const prove = (network: readonly string[] | undefined, own: string | undefined): Promise<Trial> => {
    const options = { ...toOptions(setpriv, canary, network === undefined), unshare: network ?? [], filter: own };
    return proveLauncher(landlockLauncher(options)!, canary, world, { isOffline: network !== undefined });
  };
  const filtered = await prove(undefined, filter);
  // Setpriv has filters since util-linux 2.41.
  const own = filtered.fault === null ? filter : undefined;
  const { fault, isUncertain } = filtered.fault === null ? filtered : await prove(undefined, undefined);
  if (fault !== null)
    return {
      ...{ ...base, version, fault: `Landlock does not work here: ${fault}` },
      ...{ remedy: isUncertain ? AGAIN : remedy, isUncertain },
    };
  // Users other than root need a user namespace for a network namespace.
  const commands =
    unshare === null
      ? []
      : [
          [unshare, '--net'],
          [unshare, '--user', '--map-current-user', '--net'],
        ];
  let isUnsure = filtered.isUncertain;
  for (const network of commands) {
    const separated = await prove(network, own);
    if (separated.fault === null) return { ...base, version, fault: null, remedy: null, network, filter: own };
    isUnsure ||= separated.isUncertain;
  }
  return { ...base, version, fault: null, remedy: null, filter: own, isUncertain: isUnsure };
}

async function probeSeatbelt(program: string | null, { canary, world }: ProbeOptions): Promise<BackendState> {
  const base = { backend: 'seatbelt' as const, program, version: null, network: [] };
  if (program === null) return { ...base, fault: 'sandbox-exec is not there', remedy: 'it is part of macOS' };
  const launcher = seatbeltLauncher(toOptions(program, canary));
  const { fault, isUncertain } = await proveLauncher(launcher, canary, world);
  return { ...base, fault: fault && `sandbox-exec does not work here: ${fault}`, remedy: null, isUncertain };
}
