// What a sandboxed process may do where: of all rules for the directories around a path, the closest one applies.

import { dirname, join } from 'node:path';
import type { SandboxAccess, SandboxRules } from '../../core/sandbox.js';
import { namesIn } from '../../files/list.js';
import { isWithin, realPath } from '../../files/within.js';
import { RUN, SYSTEM, TEMPORARY } from './places.js';
import type { Profile } from './profile.js';

export interface RuleOptions {
  readonly profile: Profile;
  /** What a process may use besides: its workdir, programs and their libraries. */
  readonly open: OpenPaths;
  /** Paths that the process needs besides, read-only, even inside hidden ones. */
  readonly expose?: readonly string[];
  /** Like `expose`, and writable. */
  readonly state?: readonly string[];
}

/** Paths that are open although they are in a closed home or in a private directory. */
export interface OpenPaths {
  /** The workdir, and the repository around it. */
  readonly project: readonly string[];
  /** Installed programs, and git directories of the project that are elsewhere. */
  readonly programs: readonly string[];
  /** Directories of the home that programs expect to be able to write. */
  readonly caches: readonly string[];
}

export const NOTHING_OPEN: OpenPaths = { project: [], programs: [], caches: [] };

// What name resolution needs in /run, which is private because of the sockets in it.
const RESOLVERS = ['/run/systemd/resolve', '/run/resolvconf', '/run/NetworkManager'];

const NETWORK_DEVICES = '/sys/class/net';

/** Returns the rules of a profile. Nothing inside a denied path has a rule. */
export function toRules({ profile, open, expose = [], state = [] }: RuleOptions): SandboxRules {
  const { read, write, network, deny } = profile;
  const rules = new Map<string, SandboxAccess>();
  const set = (access: SandboxAccess, paths: readonly string[]): void => {
    for (const path of paths) rules.set(path.replace(/(?<=.)\/$/, ''), access);
  };
  // What one profile names in a home, another one keeps closed.
  const closed = [...profile.homes, ...profile.secrets];
  const isNamed = (path: string): boolean =>
    !closed.some((one) => isWithin(one, path)) ||
    [...profile.named, ...open.project].some((one) => isWithin(one, path));
  const outside = write === 'all' ? 'write' : 'read';
  if (read === 'all') set(outside, ['/']);
  else set('read', SYSTEM);
  set('read', ['/sys']);
  set('private', [RUN, ...(write === 'all' ? [] : TEMPORARY)]);
  set('hidden', profile.homes);
  if (network === true) set('read', RESOLVERS);
  else set('hidden', findNetworkDevices());
  if (read === 'all') {
    set('private', open.caches);
    set(outside, open.project);
    set('read', profile.shown);
  } else set('read', read.filter(isNamed));
  if (write !== 'all') set('write', write.filter(isNamed));
  // EXE-74: a link with a protected name must not open what it leads to.
  set(
    'read',
    profile.guarded.filter((path) => accessTo(rules, path) === 'write'),
  );
  set('hidden', profile.secrets);
  // A table that lets a directory be written means the programs in it, too.
  if (read === 'all')
    set(
      'read',
      open.programs.filter((path) => accessTo(rules, path) !== 'write'),
    );
  const isWritable = (path: string): boolean => write === 'all' || write.some((root) => isWithin(root, path));
  for (const path of profile.named) set(isWritable(path) ? 'write' : 'read', [path]);
  set('read', expose);
  set('write', state);
  for (const path of rules.keys()) if (deny.some((one) => isWithin(one, path))) rules.delete(path);
  set('hidden', deny);
  return rules;
}

// They belong to the network namespace that /sys was mounted in.
function findNetworkDevices(): string[] {
  const devices = namesIn(NETWORK_DEVICES).map((name) => realPath(join(NETWORK_DEVICES, name)));
  if (devices.length === 0) return [];
  return [NETWORK_DEVICES, ...new Set(devices.flatMap((path) => (path === undefined ? [] : dirname(path))))];
}

/** Returns what a sandboxed process may do with a path; undefined if the path does not exist for it. */
export function accessTo(rules: SandboxRules, path: string): SandboxAccess | undefined {
  for (let at = path; ; at = at.slice(0, Math.max(at.lastIndexOf('/'), 1))) {
    const access = rules.get(at);
    if (access !== undefined || at === '/' || !at.startsWith('/')) return access;
  }
}

/** Whether a sandboxed process can read a path that exists. */
export function isVisible(rules: SandboxRules, path: string): boolean {
  const access = accessTo(rules, path);
  return access === 'read' || access === 'write';
}
