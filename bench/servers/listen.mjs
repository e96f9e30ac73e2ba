// Serves a handler of web requests over node:http and prints the port.

import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';

/** `answer` takes a Request and returns a Response. */
export function listenWeb(answer) {
  listen(createServer(getRequestListener(answer, { overrideGlobalObjects: false })));
}

export function listen(server) {
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}
