// Whose process is connected: the page is for the user who started it (UI-23).

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { isOwn, isOwnPeer, isPersonsPeer, readConnections } from '../../net/peer.js';
import { type Refusal, refuse } from './access.js';

const known = new WeakMap<Socket, Refusal | 'own'>();
const OTHER: Refusal = { status: 403, message: 'this page belongs to another user' };

/** Returns why a connection is refused: its process is another user's. Not known on other systems than Linux. */
export function checkPeer(socket: Socket): Refusal | undefined {
  let found = known.get(socket);
  if (found === undefined) {
    found = isOwnPeer(socket) ? 'own' : OTHER;
    known.set(socket, found);
  }
  return found === 'own' ? undefined : found;
}

/** Returns why a connection may change nothing: a tool started its process, so no person is behind it (A44). */
export function checkPerson(socket: Socket): Refusal | undefined {
  return isPersonsPeer(socket)
    ? undefined
    : { status: 403, message: 'a process that a tool started, or that cannot be found, can only read this page' };
}

// Connections that arrive within this time are looked up together.
const LOOKUP_MS = 10;
// Refused connections that may stay open for a moment, so that their clients can read the answer.
const MAX_REFUSED = 32;

/** Closes connections of other users before they send anything, so that they take no place of the page's user (UI-29). */
export function refuseOthers(server: Server): void {
  let waiting: Socket[] = [];
  let refused = 0;
  const cut = (socket: Socket): void => {
    if (refused >= MAX_REFUSED) {
      socket.destroy();
      return;
    }
    refused++;
    socket.once('close', () => refused--);
    refuse(socket, '403 Forbidden');
  };
  const lookUp = (): void => {
    const sockets = waiting.filter((socket) => !socket.destroyed && !known.has(socket));
    waiting = [];
    if (sockets.length === 0) return;
    const connections = readConnections();
    for (const socket of sockets) {
      const owned = isOwn(socket, connections);
      // One that is not found is looked up with its request.
      if (owned === undefined) continue;
      known.set(socket, owned ? 'own' : OTHER);
      if (!owned) cut(socket);
    }
  };
  server.on('connection', (socket: Socket) => {
    if (waiting.length === 0) setTimeout(lookUp, LOOKUP_MS).unref();
    waiting.push(socket);
  });
}
