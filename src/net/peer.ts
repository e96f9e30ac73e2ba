// Whose process is connected to a port of this machine, which other users can reach too.

import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';

// Of the client's end: its address, ours, state, queues, timers, the user and the inode.
const ROW = /^ *\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) \S+ \S+ \S+ \S+ +(\d+) +\d+ (\d+) /gm;

// While sockets come and go, a row may be missing in what is read.
const ATTEMPTS = 3;

/** Whether a connection is that of a process of our user, or of root. Not known on other systems than Linux. */
export function isOwnPeer({ remoteAddress, remotePort = 0, localAddress, localPort = 0 }: Socket): boolean {
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
