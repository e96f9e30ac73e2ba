// Limits the connections of an HTTP server: those that send slowly or nothing make room for others (SRV-5).

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** `receiving` until a request has arrived with its body, `serving` until its response is sent, then `idle`. */
  state: 'receiving' | 'serving' | 'idle';
  /** The latest request: a client may send the next one before the response to the last. */
  latest?: IncomingMessage;
  /** Bytes received when last checked, and how many checks found the same number. */
  bytes: number;
  silentChecks: number;
}

export interface ConnectionLimits {
  readonly connections: number;
  /** Of which so many have not sent their request. */
  readonly receiving: number;
  readonly receivingPerPeer: number;
}

const LIMITS: ConnectionLimits = { connections: 1000, receiving: 768, receivingPerPeer: 512 };
// A minute, counted in checks: while this process is too busy to read, none takes place. Five seconds while there are many.
const CHECK_MS = 500;
const MAX_SILENT_CHECKS = 120;
const MAX_SILENT_CHECKS_CROWDED = 10;
const CROWDED = 64;
// Announced to clients, which close idle connections before that; the server waits longer, so that it does not close one
// while the next request is on its way.
const KEEP_ALIVE_SECONDS = 5;
const KEEP_ALIVE_BUFFER_SECONDS = 5;
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Cuts connections that send no byte of an unfinished request for a minute, or five seconds if there are many. Too many unfinished requests, of a peer or
 * in total, cut the oldest: a client that sends its request at once is served, however many others do not.
 */
export function limitConnections(server: Server, limits = LIMITS): void {
  // The longest in its state first.
  const connections = new Map<Socket, Connection>();
  const enter = (connection: Connection, state: Connection['state']): void => {
    const { socket } = connection;
    if (!connections.delete(socket)) return;
    Object.assign(connection, { state, bytes: socket.bytesRead, silentChecks: 0 });
    connections.set(socket, connection);
  };
  const cut = ({ socket }: Connection): void => {
    connections.delete(socket);
    socket.destroy();
  };
  const makeRoom = (latest: Connection): void => {
    const receiving = [...connections.values()].filter(({ state }) => state === 'receiving');
    const ofPeer = receiving.filter(({ peer }) => peer === latest.peer);
    if (ofPeer.length > limits.receivingPerPeer) cut(ofPeer[0]!);
    else if (receiving.length > limits.receiving) cut(receiving[0]!);
    else if (connections.size > limits.connections)
      cut([...connections.values()].find(({ state }) => state !== 'serving')!);
  };
  const checkSilence = (): void => {
    const receiving = [...connections.values()].filter(({ state }) => state === 'receiving');
    const most = receiving.length > CROWDED ? MAX_SILENT_CHECKS_CROWDED : MAX_SILENT_CHECKS;
    for (const connection of receiving) {
      const { socket, bytes } = connection;
      if (socket.bytesRead !== bytes) Object.assign(connection, { bytes: socket.bytesRead, silentChecks: 0 });
      else if (++connection.silentChecks > most) {
        connections.delete(socket);
        socket.write(TIMED_OUT);
        socket.destroySoon();
      }
    }
  };

  server.keepAliveTimeout = (KEEP_ALIVE_SECONDS + KEEP_ALIVE_BUFFER_SECONDS) * 1000;
  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress ?? '';
    const connection: Connection = { socket, peer, state: 'receiving', bytes: 0, silentChecks: 0 };
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    makeRoom(connection);
  });
  // Before the listener that reads the body.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket);
    if (connection === undefined) return;
    response.setHeader('Keep-Alive', `timeout=${KEEP_ALIVE_SECONDS}`);
    connection.latest = request;
    const isLatest = (): boolean => connection.latest === request;
    response.once('close', () => {
      if (isLatest()) enter(connection, 'idle');
    });
    if (!hasBody(request)) return enter(connection, 'serving');
    enter(connection, 'receiving');
    makeRoom(connection);
    request.once('end', () => {
      if (isLatest() && !response.closed) enter(connection, 'serving');
    });
  });
  const timer = setInterval(checkSilence, CHECK_MS);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
