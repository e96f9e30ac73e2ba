// Sends one HTTP request to an allowed address and returns the response head.

import type { Agent, IncomingMessage, RequestOptions } from 'node:http';
import type { LookupFunction } from 'node:net';
import { onAbort } from '../core/async.js';
import { isToolError, ToolError } from '../core/error.js';
import { formatDuration, quoteOutside } from '../core/text.js';
import { bareHost, type Classification, classifyAddress, classifyHost, isWithinReach, type Reach } from './address.js';
import { showUrl, toRequestError, unreachable } from './fault.js';
import type { Route } from './route.js';
import { findRefusal, loadHttp, toProxyOptions } from './tunnel.js';

/** Has the signature of `dns.lookup`. */
export type Lookup = LookupFunction;

export interface ExchangeRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
  readonly agent: Agent;
  readonly route: Route;
  /** Which addresses may be reached. */
  readonly reach: Reach;
  readonly lookup: Lookup;
  readonly connectTimeoutMs: number;
  readonly maxHeaderBytes: number;
}

/** Throws a ToolError, or the reason of the signal. */
export function exchange(ask: ExchangeRequest): Promise<IncomingMessage> {
  const { url, signal, route } = ask;
  const { proxy } = route;
  // Names are checked again by their addresses.
  const found = classifyHost(url.hostname);
  if (!isWithinReach(found.class, ask.reach)) return Promise.reject(refuse(url, found));
  return new Promise((resolve, reject) => {
    const options = toOptions(ask);
    const sent = loadHttp(options.protocol).request(options);
    let timer: NodeJS.Timeout | undefined;
    sent.once('socket', (socket) => {
      if (!socket.connecting) return;
      timer = setTimeout(() => sent.destroy(slowConnect(ask)), ask.connectTimeoutMs);
      socket.once(options.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(timer));
    });
    const release =
      signal &&
      onAbort(signal, () => {
        sent.destroy();
        // Without a connection, it would be reported only when there is one.
        reject(signal.reason);
      });
    sent.once('close', () => {
      clearTimeout(timer);
      release?.();
    });
    sent.once('response', (message) => {
      const refusal = proxy && url.protocol === 'http:' ? findRefusal(message.statusCode ?? 0, url, proxy) : undefined;
      if (refusal === undefined) return resolve(message);
      message.destroy();
      reject(refusal);
    });
    // Stays attached after the response: later errors are reported by the body.
    sent.on('error', (error) => {
      reject(signal?.aborted ? signal.reason : isToolError(error) ? error : toRequestError(error, url, proxy?.url));
    });
    sent.end(ask.body);
  });
}

type Options = RequestOptions & { readonly protocol: string; readonly rejectUnauthorized: boolean };

function toOptions(ask: ExchangeRequest): Options {
  const { url, route } = ask;
  const { method, agent, maxHeaderBytes: maxHeaderSize } = ask;
  // Without TLS there is nothing to tunnel: the proxy gets the request with its whole address (RFC 9112, 3.2.2).
  if (route.proxy !== undefined && url.protocol === 'http:') {
    const own = toProxyOptions(route.proxy, route);
    const headers = { ...ask.headers, ...own.headers, host: url.host };
    return { ...own, path: `${url.origin}${url.pathname}${url.search}`, method, headers, agent, maxHeaderSize };
  }
  return {
    protocol: url.protocol,
    host: bareHost(url.hostname),
    port: url.port === '' ? undefined : url.port,
    path: `${url.pathname}${url.search}`,
    method,
    headers: { ...ask.headers, host: url.host },
    agent,
    lookup: guard(ask),
    maxHeaderSize,
    // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED could turn it off.
    rejectUnauthorized: true,
  };
}

// Checks the address that is connected to, so that DNS rebinding has no effect.
function guard({ url, reach, lookup }: ExchangeRequest): LookupFunction {
  const isLoopback = classifyHost(url.hostname).class === 'loopback';
  return guardLookup(lookup, (address) => {
    const found = classifyAddress(address);
    const allowed = isWithinReach(found.class, reach) && (!isLoopback || found.class === 'loopback');
    return allowed ? undefined : refuse(url, found, address);
  });
}

/** Returns a lookup that fails if one of the addresses has a fault. */
export function guardLookup(lookup: Lookup, findFault: (address: string) => Error | undefined): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, answer) => {
      if (error) return callback(error, '', 0);
      const addresses = Array.isArray(answer) ? answer : [{ address: answer, family: 0 }];
      for (const { address } of addresses) {
        const fault = findFault(address);
        if (fault !== undefined) return callback(fault, '', 0);
      }
      const [first] = addresses;
      if (first === undefined) return callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 0);
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function refuse(url: URL, found: Classification, address?: string): ToolError {
  const shown = showUrl(url);
  const resolved = address === undefined ? undefined : quoteOutside(address, 60);
  const what = resolved === undefined ? `is ${found.label}` : `resolves to ${resolved}, ${found.label}`;
  return unreachable(
    `${shown} ${what}; no request was sent`,
    found.class === 'forbidden'
      ? 'upstream servers cannot have such an address; correct its url'
      : 'configure a local server by its own address or name, e.g. http://127.0.0.1:3000/mcp',
    { url: shown, address: resolved },
  );
}

function slowConnect({ url, connectTimeoutMs }: ExchangeRequest): ToolError {
  return new ToolError('unavailable', `${showUrl(url)}: no connection within ${formatDuration(connectTimeoutMs)}`, {
    hint: 'check the url and the network, and call again',
    data: { url: showUrl(url), errno: 'ETIMEDOUT' },
  });
}
