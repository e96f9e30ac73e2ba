// Drains an HTTP server: no new connections, and the calls that run are answered (FLT-16).

import type { Server } from 'node:http';

const POLL_MS = 20;
// Event streams stay open until the client closes them.
const STREAMS_MS = 500;

export async function drain(server: Server, running: () => number): Promise<void> {
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, POLL_MS));
  let isClosed = false;
  server.close(() => {
    isClosed = true;
  });
  // A client that sends request after request would keep its connection open.
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false;
  });
  let idle = 0;
  while (!isClosed && idle < STREAMS_MS) {
    server.closeIdleConnections();
    await pause();
    idle = running() === 0 ? idle + POLL_MS : 0;
  }
}
