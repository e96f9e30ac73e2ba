// Passes one HTTP request on to its server, and the response back.

import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { formatHost, type HostAddress } from '../../core/hosts.js';
import { loadHttp, toProxyOptions } from '../tunnel.js';
import { type DestinationOptions, openDestination, routeTo } from './destination.js';

export interface Forwarded {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: HostAddress;
  readonly path: string;
  readonly options: DestinationOptions;
  /** Ends a connection with the proxy. */
  readonly track: <S extends Duplex>(socket: S) => S;
}

// They are for the next server only (RFC 9110, 7.6.1), or written again.
const HOP_BY_HOP = /^(?:connection|proxy-.*|keep-alive|te|trailer|upgrade|expect|host)$/i;
// A client must not have them removed: they say where a request goes, and where it ends.
const KEPT = /^(?:content-length|transfer-encoding)$/i;

/** Resolves when the response has begun. */
export async function forward({ request, response, target, path, options, track }: Forwarded): Promise<void> {
  const host = target.port === 80 ? target.host : formatHost(target);
  const headers = ['Host', host, ...withoutHops(request.rawHeaders, request.headers.connection)];
  const route = await routeTo(target, options);
  const sent = { method: request.method, headers, path } satisfies RequestOptions;
  let outgoing: ClientRequest;
  if (route.proxy === undefined) {
    const socket = track(await openDestination(target, options, { isDirect: true }));
    outgoing = loadHttp('http:').request({ ...sent, createConnection: () => socket });
  } else {
    const { headers: credentials, ...proxy } = toProxyOptions(route.proxy, route);
    const all = [...headers, ...Object.entries(credentials).flat()];
    const own = { ...proxy, ...sent, headers: all, path: `http://${host}${path}`, agent: false } as const;
    outgoing = loadHttp(proxy.protocol).request(own);
  }
  await new Promise<void>((resolve, reject) => {
    const fail = (what: string): void => reject(new Error(`${formatHost(target)} ${what}`));
    outgoing.on('error', reject);
    outgoing.once('close', () => fail('did not answer'));
    outgoing.once('upgrade', (_, socket) => {
      socket.destroy();
      fail('answered with another protocol');
    });
    outgoing.once('response', (answer) => {
      answer.on('error', () => response.destroy());
      try {
        const kept = withoutHops(answer.rawHeaders, answer.headers.connection);
        // Written again as it is sent.
        response.writeHead(answer.statusCode!, answer.statusMessage, without(kept, /^transfer-encoding$/i));
        answer.pipe(response);
        resolve();
      } catch {
        // A server may answer with anything, and nothing of it may end this process.
        outgoing.destroy();
        fail('sent an invalid answer');
      }
    });
    response.on('error', () => outgoing.destroy());
    response.once('close', () => outgoing.destroy());
    request.pipe(outgoing);
  });
}

function withoutHops(rawHeaders: readonly string[], connection = ''): string[] {
  const named = connection.split(',').map((name) => name.trim().toLowerCase());
  return without(rawHeaders, HOP_BY_HOP, named);
}

function without(rawHeaders: readonly string[], pattern: RegExp, names: readonly string[] = []): string[] {
  return rawHeaders.filter((_, at) => {
    const name = rawHeaders[at - (at % 2)]!;
    return !pattern.test(name) && (KEPT.test(name) || !names.includes(name.toLowerCase()));
  });
}
