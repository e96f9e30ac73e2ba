// The directory of the broker, and why there is none on this machine.

import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { orNothing, systemReason } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { digestParts } from '../../files/digest.js';
import { lstatOrNothing, statOrNothing } from '../../files/read.js';
import { isStartedByTool } from '../../process/ancestry.js';
import { findEntry } from '../../process/entry.js';

export interface BrokerAddress {
  readonly directory: string;
  /** The socket, named after the version and the machine. */
  readonly socket: string;
  /** Identifies the code of both ends. */
  readonly build: string;
  /** The version of wield. */
  readonly version: string;
  /** The program. */
  readonly entry: string;
}

export interface BrokerOptions {
  readonly wieldHome: string;
  /** The version of wield. */
  readonly version: string;
  readonly world: World;
}

// Of `sun_path`, with the byte at its end; it is shorter on macOS.
const MAX_SOCKET_PATH = 104;
// Types of file systems that other machines may share, where a socket belongs to one of them: NFS, SMB, CIFS, AFS, 9P, FUSE,
// Ceph, Lustre, GPFS, OCFS2, GFS2, VirtualBox.
const NETWORK_TYPES = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x01021997, 0x65735546, 0x00c36400, 0x0bd00bd0, 0x47504653,
  0x7461636f, 0x01161970, 0x786f4256,
]);
const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv'];
const CONTAINER_GROUP = /docker|containerd|kubepods|libpod|lxc/;

/** Returns where the broker of this version is. A build that was changed is another version. */
export function findAddress({ wieldHome, version }: Omit<BrokerOptions, 'world'>): BrokerAddress {
  const directory = join(wieldHome, 'broker');
  const entry = findEntry('broker/main.cjs');
  const { size, mtimeMs } = statOrNothing(entry) ?? {};
  const build = digestParts([version, entry, String(size), String(mtimeMs), hostname()]).slice(0, 12);
  return { directory, socket: join(directory, `${build}.sock`), build, version, entry };
}

/** Returns why sessions do not share servers; undefined if they do. */
export function findObstacle(setting: boolean | undefined, { wieldHome, version, world }: BrokerOptions) {
  const { env, platform } = world;
  if (setting === false) return 'mcp.broker is false';
  if (env.WIELD_NO_BROKER !== undefined && env.WIELD_NO_BROKER !== '' && env.WIELD_NO_BROKER !== '0')
    return 'WIELD_NO_BROKER is set';
  if (platform === 'win32') return 'not supported on Windows';
  if (setting === undefined && env.CI) return 'off in CI, unless mcp.broker is true';
  if (setting === undefined && isContainer(env)) return 'off in containers, unless mcp.broker is true';
  // What a tool started ends with its call (EXE-6).
  if (isStartedByTool(env, platform)) return 'started by a tool';
  const { directory, socket } = findAddress({ wieldHome, version });
  if (Buffer.byteLength(socket) >= MAX_SOCKET_PATH) return `the path of its socket is too long: ${socket}`;
  return findFault(directory);
}

function isContainer(env: World['env']): boolean {
  if (env.KUBERNETES_SERVICE_HOST !== undefined || env.container !== undefined) return true;
  if (CONTAINER_FILES.some((file) => existsSync(file))) return true;
  return CONTAINER_GROUP.test(orNothing(() => readFileSync('/proc/1/cgroup', 'latin1')) ?? '');
}

function findFault(directory: string): string | undefined {
  const stats = lstatOrNothing(directory);
  if (stats !== undefined && (!stats.isDirectory() || stats.uid !== process.getuid?.()))
    return `${directory} is not a directory of this user`;
  let existing = directory;
  while (!existsSync(existing)) existing = dirname(existing);
  try {
    accessSync(existing, constants.W_OK);
    if (NETWORK_TYPES.has(statfsSync(existing).type >>> 0)) return `${existing} is on a network file system`;
    return undefined;
  } catch (error) {
    return `${existing} cannot be written: ${systemReason(error)}`;
  }
}
