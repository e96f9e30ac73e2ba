// One request over HTTP and the head of its answer: by an address that was judged, in bounded time and size.

import type { Agent, IncomingMessage, RequestOptions } from 'node:http';
import type { LookupFunction } from 'node:net';
import { isToolError, ToolError } from '../../core/error.js';
import { formatDuration, quoteOutside } from '../../core/text.js';
import { bareHost, isWithinReach, judgeAddress, judgeHost, type Reach } from './address.js';
import { showUrl, toNetworkError, unreachable } from './fault.js';

/** Resolves a name as `dns.lookup` does. */
export type Lookup = LookupFunction;

export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
  readonly agent: Agent;
  /** How near the address may be. */
  readonly reach: Reach;
  readonly lookup: Lookup;
  readonly connectTimeoutMs: number;
  readonly maxHeaderBytes: number;
}

/** Throws a ToolError, or the reason of the signal. */
export function exchange(ask: Exchange): Promise<IncomingMessage> {
  const { url, signal } = ask;
  const refusal = findHostRefusal(url, ask.reach);
  if (refusal !== undefined) return Promise.reject(refusal);
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
    const sent = request(toOptions(ask));
    const onAbort = (): void => {
      sent.destroy();
      settle();
      reject(signal!.reason);
    };
    let timer: NodeJS.Timeout | undefined;
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    sent.once('socket', (socket) => {
      if (!socket.connecting) return;
      timer = setTimeout(() => sent.destroy(slowConnect(ask)), ask.connectTimeoutMs);
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(timer));
    });
    sent.once('response', (message) => {
      settle();
      resolve(message);
    });
    // Stays after the answer has begun: what breaks then is told by the body.
    sent.on('error', (error) => {
      settle();
      reject(isToolError(error) ? error : toNetworkError(error, url));
    });
    sent.end(ask.body);
  });
}

function toOptions(ask: Exchange): RequestOptions & { rejectUnauthorized: boolean } {
  const { url } = ask;
  return {
    protocol: url.protocol,
    host: bareHost(url.hostname),
    ...(url.port === '' ? {} : { port: url.port }),
    path: `${url.pathname}${url.search}`,
    method: ask.method,
    headers: { ...ask.headers, host: url.host },
    agent: ask.agent,
    lookup: guardLookup(ask),
    maxHeaderSize: ask.maxHeaderBytes,
    // Said outright: a variable of the environment turns it off otherwise.
    rejectUnauthorized: true,
  };
}

/** Whether a host is refused by what it says of itself; names are judged again by their addresses. */
function findHostRefusal(url: URL, reach: Reach): ToolError | undefined {
  const found = judgeHost(url.hostname);
  return isWithinReach(found.class, reach) ? undefined : refuse(url, found.what, found.class === 'forbidden');
}

// The address that was judged is the one that is connected to, so no later answer can take its place.
function guardLookup({ url, reach, lookup }: Exchange): LookupFunction {
  const ownOnly = judgeHost(url.hostname).class === 'loopback';
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, answer) => {
      if (error) return callback(error, '', 0);
      const addresses = Array.isArray(answer) ? answer : [{ address: answer, family: 0 }];
      for (const { address } of addresses) {
        const found = judgeAddress(address);
        const allowed = isWithinReach(found.class, reach) && (!ownOnly || found.class === 'loopback');
        if (!allowed) return callback(refuse(url, found.what, found.class === 'forbidden', address), '', 0);
      }
      const [first] = addresses;
      if (first === undefined)
        return callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 0);
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function refuse(url: URL, what: string, always: boolean, address?: string): ToolError {
  const shown = showUrl(url);
  const leads = address === undefined ? `is ${what}` : `leads to ${quoteOutside(address, 60)}, ${what}`;
  return unreachable(
    `${shown} ${leads}; it was not asked`,
    always
      ? 'no upstream server may have such an address; correct its url'
      : 'a server that is near must be configured by such an address or name itself, e.g. http://127.0.0.1:3000/mcp',
    { url: shown, ...(address === undefined ? {} : { address: quoteOutside(address, 60) }) },
  );
}

function slowConnect({ url, connectTimeoutMs }: Exchange): ToolError {
  return new ToolError(
    'unavailable',
    `${showUrl(url)}: no connection within ${formatDuration(connectTimeoutMs)}`,
    { hint: 'check the url and the network, and call again', data: { url: showUrl(url) } },
  );
}
