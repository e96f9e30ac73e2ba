// Receives the OAuth redirect of a login on the loopback interface.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deferred } from '../../core/async.js';
import { orNothing, ToolError } from '../../core/error.js';
import { isSecret } from '../../net/bearer.js';
import { isOwnPeer } from '../../net/peer.js';
import { toPage } from './page.js';

export interface Callback {
  readonly redirectUrl: string;
  /** The parameters of the first valid redirect; later ones are rejected. */
  readonly answered: Promise<URLSearchParams>;
  /** Accepts a redirect URL that the user pasted; returns false if it is not valid. */
  accept(address: string): boolean;
  close(): void;
}

const PATH = '/callback';
const LINGER_MS = 1000;

/** Listens on 127.0.0.1, on a free port unless one is given. */
export async function listenForAnswer(state: string, port = 0): Promise<Callback> {
  const { createServer } = process.getBuiltinModule('node:http');
  const { promise: answered, resolve: resolveAnswer } = deferred<URLSearchParams>();
  let open = true;
  const take = (parameters: URLSearchParams): boolean => {
    if (!open || !isSecret(parameters.get('state') ?? '', state)) return false;
    open = false;
    resolveAnswer(parameters);
    return true;
  };
  const server = createServer((request, response) => {
    const { host } = new URL(redirectUrl);
    const url = parse(request, host);
    // Another Host header means DNS rebinding from a web page.
    if (url === undefined || request.headers.host !== host) return answerWith(response, 404, 'Not found.');
    // Other users can read the state in the arguments of the browser, and would log in to their own account here.
    if (!isOwnPeer(request.socket)) return answerWith(response, 403, 'This login belongs to another user.');
    if (take(url.searchParams))
      return answerWith(response, 200, 'Login received. You can close this window and return to the terminal.');
    answerWith(response, 400, 'Unexpected login response. Start the login again.');
  });
  server.maxConnections = 20;
  server.headersTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new ToolError('unavailable', `cannot listen on 127.0.0.1:${port}: ${error.code ?? error.message}`, {
          hint: 'pass another --port, or omit it',
          cause: error,
        }),
      ),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  const redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  return {
    redirectUrl,
    answered,
    accept: (address) => {
      return orNothing(() => take(new URL(address.trim()).searchParams)) ?? false;
    },
    close: () => {
      open = false;
      server.close();
      // Lets the browser read the response.
      setTimeout(() => server.closeAllConnections(), LINGER_MS).unref();
    },
  };
}

function parse(request: IncomingMessage, host: string): URL | undefined {
  if (request.method !== 'GET') return undefined;
  const url = orNothing(() => new URL(request.url ?? '', `http://${host}`));
  return url?.pathname === PATH ? url : undefined;
}

function answerWith(response: ServerResponse, status: number, text: string): void {
  const { headers, body } = toPage(status, [text]);
  response.writeHead(status, { ...headers, connection: 'close' }).end(body);
}
