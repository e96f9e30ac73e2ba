// Connections through a proxy: CONNECT with the name of the server, which the proxy resolves (NET-1).

import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { onAbort } from '../core/async.js';
import { formatDuration } from '../core/text.js';
import { bareHost, parseAddress } from './address.js';
import { showUrl, toProxyError, toRequestError, unreachable } from './fault.js';
import { type ProxyServer, portOf, type Route } from './route.js';

// Shorter than the keep-alive of servers, which could otherwise close a connection while it is used.
const IDLE_MS = 4_000;

/** Creates the agent of requests with a protocol that take a route; its connections are used again. */
export function createAgent(protocol: string, { proxy, context }: Route, connectTimeoutMs: number): Agent {
  const isTunnel = proxy !== undefined && protocol === 'https:';
  const { Agent } = loadHttp(proxy === undefined || isTunnel ? protocol : proxy.url.protocol);
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, ...(context && { secureContext: context }) });
  if (!isTunnel) return agent;
  agent.createConnection = (options, callback) => {
    openTunnel(options as ConnectionOptions, { proxy, context }, connectTimeoutMs).then(
      (socket) => callback?.(null, socket),
      (error: Error) => callback?.(error, undefined as never),
    );
    return undefined;
  };
  return agent;
}

/** Returns the module of a protocol. */
export function loadHttp(protocol: string) {
  return process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http');
}

/** Returns the options of a request to a proxy. */
export function toProxyOptions({ url, authorization }: ProxyServer, { context }: Pick<Route, 'context'>) {
  return {
    protocol: url.protocol,
    host: bareHost(url.hostname),
    port: portOf(url),
    headers: authorization === undefined ? {} : { 'proxy-authorization': authorization },
    // By default it would be the name in the header `Host`, which is that of the server.
    servername: parseAddress(bareHost(url.hostname)) === undefined ? bareHost(url.hostname) : '',
    rejectUnauthorized: true,
    ...(context && { secureContext: context }),
  };
}

/** Returns the error of a proxy that refused a request; undefined if the status is another one. */
export function findRefusal(status: number, url: URL, { url: proxy, authorization }: ProxyServer) {
  if (status !== 407) return undefined;
  const [what, hint] =
    authorization === undefined
      ? ['requires a user and a password', 'set proxy-auth in [net] of ~/.wield/config.toml, e.g. "${PROXY_AUTH}"']
      : ['refused the user and password of [net] proxy-auth', 'its value must be user:password'];
  return unreachable(`${showUrl(url)}: the proxy ${showUrl(proxy)} ${what}`, hint, {
    url: showUrl(url),
    proxy: showUrl(proxy),
    status,
  });
}

// The whole way to the server, with TLS, has one time limit.
async function openTunnel(
  options: ConnectionOptions,
  { proxy, context }: Route & { readonly proxy: ProxyServer },
  timeoutMs: number,
): Promise<Duplex> {
  const host = String(options.host);
  const url = new URL(`https://${host.includes(':') ? `[${host}]` : host}:${options.port}`);
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const socket = await connectThrough(url, { proxy, context }, limit);
    const secured = { ...options, socket, ...(context && { secureContext: context }) };
    return await secure(secured, limit).catch((error: unknown) => {
      throw toRequestError(error, url, proxy.url);
    });
  } catch (error) {
    if (!limit.aborted) throw error;
    throw unreachable(
      `${showUrl(url)}: no connection through the proxy ${showUrl(proxy.url)} within ${formatDuration(timeoutMs)}`,
      'check the proxy, and proxy in [net] of ~/.wield/config.toml',
      { url: showUrl(url), proxy: showUrl(proxy.url) },
    );
  }
}

/** Opens a connection to the host of a URL by CONNECT, before TLS. Throws `unavailable`. */
export function connectThrough(
  url: URL,
  { proxy, context }: Route & { readonly proxy: ProxyServer },
  signal: AbortSignal,
): Promise<Duplex> {
  const { request } = loadHttp(proxy.url.protocol);
  const own = toProxyOptions(proxy, { context });
  const target = `${url.hostname}:${portOf(url)}`;
  const options = { ...own, method: 'CONNECT', path: target, headers: { ...own.headers, host: target } };
  return new Promise<Duplex>((resolve, reject) => {
    const sent = request({ ...options, agent: false, signal });
    sent.once('connect', ({ statusCode = 0 }, socket, head) => {
      // A server speaks after the handshake: earlier bytes are not its own.
      if (statusCode >= 200 && statusCode < 300 && head.length === 0) return resolve(socket);
      socket.destroy();
      reject(findRefusal(statusCode, url, proxy) ?? notConnected(statusCode, url, proxy));
    });
    sent.once('error', (error) => reject(toProxyError(error, url, proxy.url)));
    sent.end();
  });
}

function secure(options: ConnectionOptions, signal: AbortSignal) {
  const tls = process.getBuiltinModule('node:tls');
  return new Promise<Duplex>((resolve, reject) => {
    const secured = tls.connect(options);
    const unlisten = onAbort(signal, () => secured.destroy(signal.reason as Error));
    secured.once('error', reject);
    secured.once('secureConnect', () => {
      unlisten();
      secured.off('error', reject);
      resolve(secured);
    });
  });
}

function notConnected(status: number, url: URL, { url: proxy }: ProxyServer) {
  const data = { url: showUrl(url), proxy: showUrl(proxy), status };
  const target = `${url.hostname}:${portOf(url)}`;
  return status >= 500
    ? unreachable(
        `the proxy ${showUrl(proxy)} could not connect to ${target} (status ${status})`,
        'check the name and the port in the url: the proxy resolves the name',
        data,
      )
    : unreachable(
        `the proxy ${showUrl(proxy)} refused to connect to ${target} (status ${status})`,
        `ask its operator to allow it, or add "${url.hostname}" to no-proxy in [net] of ~/.wield/config.toml`,
        data,
      );
}
