// The process at the other end of a connection: whose it is, on a port that other users and tools can reach too.

import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { shareNext } from '../core/async.js';
import { isHeldByTool } from '../process/ancestry.js';
import { readProc } from '../process/proc.js';
import { classifyAddress, parseAddress } from './address.js';

// Of the client's end: its address, ours, state, queues, timers, the user and the inode.
const ROW = /^ *\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) \S+ \S+ \S+ \S+ +(\d+) +\d+ (\d+) /gm;

// While sockets come and go, a row may be missing in what is read.
const ATTEMPTS = 3;

/** Whether a connection is that of a process of our user, or of root. Not known on other systems than Linux. */
export function isOwnPeer(socket: Socket): boolean {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const owned = isOwn(socket, readConnections());
    if (owned !== undefined) return owned;
  }
  return false;
}

/** Like `isOwnPeer`, for several connections; undefined if it is not among those that were read. */
export function isOwn(socket: Socket, connections: Connections): boolean | undefined {
  if (process.platform !== 'linux') return true;
  const peer = findAmong(socket, connections);
  if (peer === 'absent') return undefined;
  return typeof peer === 'object' ? isAllowed(peer) : peer === 'hidden';
}

/**
 * Whether consent can be taken from a connection (A44). Not from a process of this machine that a tool started, or that
 * cannot be found; other machines are judged by their token. Not known on other systems than Linux.
 */
export async function isPersonsPeer(socket: Socket): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const peer = await findPeer(socket);
  if (typeof peer === 'object') return peer.inode !== '0' && !(await isHeldByTool(peer.inode, peer.uid));
  const { remoteAddress = '', localAddress } = socket;
  return peer !== 'gone' && remoteAddress !== localAddress && classifyAddress(remoteAddress).class !== 'loopback';
}

interface PeerSocket {
  readonly uid: number;
  readonly inode: string;
}

/** The connections of the machine at one moment. */
export type Connections = readonly RegExpExecArray[];

/** Reads the connections of the machine; none on other systems than Linux. */
export function readConnections(): Connections {
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => [...(readProc(path) ?? '').matchAll(ROW)]);
}

const shareConnections = shareNext(async () => readConnections());

async function findPeer(socket: Socket): Promise<Peer> {
  for (let attempt = 1; ; attempt++) {
    const peer = findAmong(socket, await shareConnections());
    if (peer !== 'absent' || attempt === ATTEMPTS) return peer;
  }
}

// `hidden`: a table without our own port, as in some containers, says nothing. `absent`: the socket is not of this machine.
type Peer = PeerSocket | 'gone' | 'hidden' | 'absent';

function findAmong(socket: Socket, rows: Connections): Peer {
  const { remoteAddress, remotePort = 0, localAddress, localPort = 0 } = socket;
  if (remoteAddress === undefined || localAddress === undefined) return 'gone';
  const [from, to] = [toHex(remoteAddress, remotePort), toHex(localAddress, localPort)];
  if (!rows.some(([, local]) => local!.endsWith(to))) return 'hidden';
  // Of an IPv4 address, an IPv6 socket has the same end.
  const row = rows.find(([, local, remote]) => local!.endsWith(from) && remote!.endsWith(to));
  return row === undefined ? 'absent' : { uid: Number(row[3]), inode: row[4]! };
}

// Root may do anything here, and forwards ports for some systems. A socket that was closed has no inode and seems to be its.
function isAllowed({ uid, inode }: PeerSocket): boolean {
  return (uid === process.getuid?.() || uid === 0) && inode !== '0';
}

// In words of four bytes, each in the order of the machine.
function toHex(address: string, port: number): string {
  const bytes = parseAddress(address.replace(/^::ffff:(?=\d+\.)/, '')) ?? [];
  const words = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.slice(at * 4, at * 4 + 4));
  const ordered = words.flatMap((word) => (endianness() === 'LE' ? word.reverse() : word));
  const hex = (number: number, digits: number): string => number.toString(16).toUpperCase().padStart(digits, '0');
  return `${ordered.map((byte) => hex(byte, 2)).join('')}:${hex(port, 4)}`;
}
