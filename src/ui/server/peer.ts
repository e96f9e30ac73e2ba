// Whose process is connected: the page is for the user who started it, and others can reach a port of this machine (UI-23).

import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import type { Refusal } from './access.js';

// Of the client's end: its address, ours, state, queues, timers, the user and the inode.
const ROW = /^ *\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) \S+ \S+ \S+ \S+ +(\d+) +\d+ (\d+) /gm;

// While sockets come and go, a row may be missing in what is read.
const ATTEMPTS = 3;

const known = new WeakMap<Socket, Refusal | 'own'>();

/** Returns why a connection is refused: its process is another user's. Not known on other systems than Linux. */
export function checkPeer(socket: Socket): Refusal | undefined {
  let found = known.get(socket);
  if (found === undefined) {
    found = isOwn(socket) ? 'own' : { status: 403, message: 'this page belongs to another user' };
    known.set(socket, found);
  }
  return found === 'own' ? undefined : found;
}

function isOwn({ remoteAddress, remotePort = 0, localAddress, localPort = 0 }: Socket): boolean {
  if (process.platform !== 'linux') return true;
  // Gone already.
  if (remoteAddress === undefined || localAddress === undefined) return false;
  const [from, to] = [toHex(remoteAddress, remotePort), toHex(localAddress, localPort)];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => [...readTable(path).matchAll(ROW)]);
    // A table without our own port, as in some containers, says nothing.
    if (!rows.some(([, local]) => local!.endsWith(to))) return true;
    // Of an IPv4 address, an IPv6 socket has the same end.
    const row = rows.find(([, local, remote]) => local!.endsWith(from) && remote!.endsWith(to));
    if (row !== undefined) return isAllowed(Number(row[3]), row[4]!);
  }
  return false;
}

// Root may do anything here, and forwards ports for some systems. A socket that was closed has no inode and seems to be its.
function isAllowed(uid: number, inode: string): boolean {
  return (uid === process.getuid?.() || uid === 0) && inode !== '0';
}

function readTable(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function toHex(address: string, port: number): string {
  const bytes = address
    .replace(/^::ffff:/, '')
    .split('.')
    .map(Number);
  const ordered = endianness() === 'LE' ? bytes.reverse() : bytes;
  const hex = (number: number, digits: number): string => number.toString(16).toUpperCase().padStart(digits, '0');
  return `${ordered.map((byte) => hex(byte, 2)).join('')}:${hex(port, 4)}`;
}
