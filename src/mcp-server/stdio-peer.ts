// The client of a stdio connection, as the lane sees it.

import { randomUUID } from 'node:crypto';
import type { ConnectionState } from './connection-state.js';
import type { Peer } from './lane.js';
import type { LineTransport } from './line-transport.js';
import type { Outgoing } from './outgoing.js';

/** Returns the session, which the first call creates: loading node:crypto takes 5 ms. */
export function createSession(): () => string {
  let id: string | undefined;
  return () => {
    id ??= `stdio ${randomUUID()}`;
    return id;
  };
}

export function createPeer(
  { phase, initialize, logLevel }: ConnectionState,
  session: () => string,
  transport: LineTransport,
  outgoing: Outgoing,
): Peer {
  return {
    get session() {
      return session();
    },
    isNewer: phase !== 'older',
    initialized: initialize?.params,
    logLevel,
    notify: (text) => transport.send(text),
    request: (request, signal) => outgoing.request(request, signal, (text) => transport.send(text)),
  };
}
