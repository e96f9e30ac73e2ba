// Finds out which backends work on this machine, by running something in each. The answer is kept until the next boot.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../../core/json.js';
import type { SandboxBackend } from '../../core/sandbox.js';
import type { World } from '../../core/world.js';
import { readStateFile, statIdentity } from '../../files/read.js';
import { createStateDirectory } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import { launcherSearch } from '../environment.js';
import { bubblewrapLauncher } from './bubblewrap.js';
import { createFilter, filterFile } from './filter.js';
import { landlockLauncher } from './landlock.js';
import type { Profile } from './profile.js';
import { seatbeltLauncher } from './seatbelt.js';
import { readVersion, tryLauncher } from './try-launcher.js';

/** A backend on this machine. */
export interface BackendState {
  readonly backend: Exclude<SandboxBackend, 'none'>;
  readonly program: string | null;
  readonly version: string | null;
  /** Why it does not work; null if it does. */
  readonly fault: string | null;
  /** What a person can do about it. */
  readonly remedy: string | null;
  /** Whether it can separate the network. */
  readonly network: boolean;
  /** The seccomp filter that it installs. */
  readonly filter?: string | undefined;
  /** A program could not be started or did not answer, which can change. */
  readonly isUncertain?: boolean;
}

// How long an uncertain answer is kept.
const UNCERTAIN_MS = 60_000;

const NOTHING: Profile = {
  read: 'all',
  write: [],
  secrets: [],
  named: [],
  shown: [],
  deny: [],
  guarded: [],
  network: false,
};
const AGAIN = 'the machine may be too busy; it is tried again after a minute';
const INSTALL = 'install it: apt install bubblewrap, dnf install bubblewrap, or pacman -S bubblewrap';
// Ubuntu 24.04 and newer allow user namespaces to programs with a profile only.
const APPARMOR =
  'give it the AppArmor profile of your distribution: apt install apparmor-profiles, then ' +
  'ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and systemctl reload apparmor';

/** Returns the backends in the order in which they are tried. */
export async function probeBackends(
  world: World,
  wieldHome: string,
  workdir: string,
): Promise<readonly BackendState[]> {
  const isMac = world.platform === 'darwin';
  const names = isMac ? ['sandbox-exec'] : ['bwrap', 'setpriv', 'unshare'];
  const programs = names.map(launcherSearch(workdir, world)).map((program) => program ?? null);
  const filter = isMac ? undefined : filterFile(wieldHome);
  const identities = programs.map((program) => program && [program, statIdentity(program)]);
  const key = JSON.stringify([bootId(), filter, identities]);
  const file = join(wieldHome, 'cache', 'sandbox.json');
  if (known?.file === file && known.key === key) return known.states;
  const kept = readKept(file, key, world.now());
  if (kept !== undefined) return remember(file, key, kept);
  const [first, setpriv, unshare] = programs as [string | null, string | null, string | null];
  if (filter !== undefined) createFilter(filter);
  const states = isMac
    ? [await probeSeatbelt(first, world)]
    : [await probeBubblewrap(first, filter, world), await probeLandlock(setpriv, unshare, filter, world)];
  try {
    createStateDirectory(wieldHome);
    createStateDirectory(join(wieldHome, 'cache'));
    const until = states.some(({ isUncertain }) => isUncertain) ? { until: world.now() + UNCERTAIN_MS } : {};
    writeFileAtomic(file, JSON.stringify({ key, states, ...until }), { mode: 0o600 });
  } catch (error) {
    world.debug(`sandbox: the probe could not be kept: ${(error as Error).message}`);
  }
  return remember(file, key, states);
}

let known: { readonly file: string; readonly key: string; readonly states: readonly BackendState[] } | undefined;

// Reading the file takes a tenth of a millisecond per call.
function remember(file: string, key: string, states: readonly BackendState[]): readonly BackendState[] {
  if (!states.some(({ isUncertain }) => isUncertain)) known = { file, key, states };
  return states;
}

function readKept(file: string, key: string, now: number): readonly BackendState[] | undefined {
  try {
    const kept: unknown = JSON.parse(readStateFile(file) ?? '');
    if (!isRecord(kept) || kept.key !== key) return undefined;
    // A clock that was set back must not keep it longer.
    const left = typeof kept.until === 'number' ? kept.until - now : 1;
    return left > 0 && left <= UNCERTAIN_MS ? (kept.states as readonly BackendState[]) : undefined;
  } catch {
    return undefined;
  }
}

let boot: string | undefined;

function bootId(): string {
  try {
    boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    boot = '';
  }
  return boot;
}

async function probeBubblewrap(
  program: string | null,
  filter: string | undefined,
  world: World,
): Promise<BackendState> {
  const base = { backend: 'bubblewrap' as const, program, network: true, filter };
  if (program === null) return { ...base, version: null, fault: 'bubblewrap is not installed', remedy: INSTALL };
  const version = await readVersion(program, world);
  const options = { program, profile: NOTHING, filter, workdir: '/', expose: [], hiddenFile: '/dev/null' };
  const { fault, isUncertain } = await tryLauncher(bubblewrapLauncher(options), world, filter);
  const limit = hasAppArmorLimit() ? APPARMOR : 'allow user namespaces for bubblewrap';
  const remedy = fault === null ? null : isUncertain ? AGAIN : limit;
  return { ...base, version, fault: fault && `bubblewrap does not work here: ${fault}`, remedy, isUncertain };
}

function hasAppArmorLimit(): boolean {
  try {
    return readFileSync('/proc/sys/kernel/apparmor_restrict_unprivileged_userns', 'utf8').trim() === '1';
  } catch {
    return false;
  }
}

async function probeLandlock(
  setpriv: string | null,
  unshare: string | null,
  filter: string | undefined,
  world: World,
): Promise<BackendState> {
  const base = { backend: 'landlock' as const, program: setpriv, network: false };
  const remedy = 'it needs Linux 5.13 with Landlock, and setpriv of util-linux 2.40 or newer';
  if (setpriv === null) return { ...base, version: null, fault: 'setpriv is not installed', remedy };
  const version = await readVersion(setpriv, world);
  const options = { program: setpriv, workdir: '/', expose: [], hiddenFile: '/dev/null', unshare: unshare ?? '' };
  const profile = { ...NOTHING, network: true };
  const filtered = await tryLauncher(landlockLauncher({ ...options, profile, filter })!, world);
  // Setpriv has filters since util-linux 2.41.
  const hasFilter = filtered.fault === null;
  const { fault, isUncertain } = hasFilter
    ? filtered
    : await tryLauncher(landlockLauncher({ ...options, profile })!, world);
  if (fault !== null)
    return {
      ...{ ...base, version, fault: `Landlock does not work here: ${fault}` },
      ...{ remedy: isUncertain ? AGAIN : remedy, isUncertain },
    };
  const closed = landlockLauncher({ ...options, profile: NOTHING })!;
  const separated = unshare === null ? undefined : await tryLauncher(closed, world);
  const network = separated?.fault === null;
  return {
    ...{ ...base, version, fault: null, remedy: null, network, filter: hasFilter ? filter : undefined },
    isUncertain: filtered.isUncertain || separated?.isUncertain === true,
  };
}

async function probeSeatbelt(program: string | null, world: World): Promise<BackendState> {
  const base = { backend: 'seatbelt' as const, program, version: null, network: true };
  if (program === null) return { ...base, fault: 'sandbox-exec is not there', remedy: 'it is part of macOS' };
  const options = { program, profile: NOTHING, workdir: '/', expose: [], hiddenFile: '/dev/null' };
  const { fault, isUncertain } = await tryLauncher(seatbeltLauncher(options), world);
  return { ...base, fault: fault && `sandbox-exec does not work here: ${fault}`, remedy: null, isUncertain };
}
