// Whose process is connected: the page is for the user who started it (UI-23).

import type { Socket } from 'node:net';
import { isOwnPeer, isPersonsPeer } from '../../net/peer.js';
import type { Refusal } from './access.js';

const known = new WeakMap<Socket, Refusal | 'own'>();

/** Returns why a connection is refused: its process is another user's. Not known on other systems than Linux. */
export function checkPeer(socket: Socket): Refusal | undefined {
  let found = known.get(socket);
  if (found === undefined) {
    found = isOwnPeer(socket) ? 'own' : { status: 403, message: 'this page belongs to another user' };
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
