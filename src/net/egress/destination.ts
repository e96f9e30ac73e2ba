// Connects to a host of the list: to an address that was checked, or through the proxy of the network (EXE-85).

import { connect as connectSocket } from 'node:net';
import type { Duplex } from 'node:stream';
import { onAbort } from '../../core/async.js';
import { allowsHost, formatHost, type HostAddress } from '../../core/hosts.js';
import { bareHost, classifyAddress, classifyHost, isWithinReach, type Reach } from '../address.js';
import { guardLookup, type Lookup } from '../exchange.js';
import type { FindRoute, Route } from '../route.js';
import { connectThrough } from '../tunnel.js';

export interface DestinationOptions {
  /** The list of the sandbox. */
  readonly hosts: readonly string[];
  readonly findRoute: FindRoute;
  readonly lookup: Lookup;
}

/** A host that must not be reached; `allow` is what has to be listed, if it can be allowed. */
export class RefusedHostError extends Error {
  readonly allow: string | undefined;

  constructor(message: string, allow?: string) {
    super(message);
    this.allow = allow;
  }
}

const CONNECT_MS = 10_000;

/** Throws RefusedHostError unless the list has a host, and it may be one. */
export function assertListed(target: HostAddress, { hosts }: DestinationOptions): void {
  const shown = formatHost(target);
  const { class: kind, label } = classifyHost(target.host);
  if (kind === 'forbidden') throw new RefusedHostError(`${shown} is ${label}, which no sandbox reaches`);
  if (!allowsHost(hosts, target)) throw new RefusedHostError(`${shown} is not in its list`, shown);
}

/** Returns the way to a host that is listed. */
export function routeTo({ host, port }: HostAddress, { findRoute }: DestinationOptions): Promise<Route> {
  return findRoute(new URL(`${port === 80 ? 'http' : 'https'}://${host}:${port}`));
}

/** Opens a connection to a host that is listed. Throws RefusedHostError if it resolves to an address that is not allowed. */
export async function openDestination(
  target: HostAddress,
  options: DestinationOptions,
  { isDirect = false } = {},
): Promise<Duplex> {
  const signal = AbortSignal.timeout(CONNECT_MS);
  const route = isDirect ? {} : await routeTo(target, options);
  if (route.proxy !== undefined) {
    const url = new URL(`https://${formatHost(target)}`);
    return connectThrough(url, { ...route, proxy: route.proxy }, signal);
  }
  const host = bareHost(target.host);
  const lookup = guardLookup(options.lookup, (address) => findRefusal(address, target, options));
  // RFC 6761: these names are this machine, also where the system does not know them.
  const place = host.endsWith('.localhost') ? '127.0.0.1' : host;
  return new Promise((settle, reject) => {
    const socket = connectSocket({ host: place, port: target.port, lookup });
    const release = onAbort(signal, () => socket.destroy(new Error('no connection within 10 s')));
    socket.once('error', reject);
    socket.once('connect', () => {
      release();
      socket.off('error', reject);
      settle(socket);
    });
  });
}

// Of an address that the name of a listed host resolves to.
function findRefusal(address: string, target: HostAddress, { hosts }: DestinationOptions): Error | undefined {
  const reach = classifyHost(target.host).class;
  const found = classifyAddress(address);
  const listed = { host: address.includes(':') ? `[${address}]` : address, port: target.port };
  const isReached = reach === 'loopback' ? found.class === reach : isWithinReach(found.class, reach as Reach);
  if (isReached || (found.class !== 'forbidden' && allowsHost(hosts, listed))) return undefined;
  const message = `${formatHost(target)} resolves to ${address}, ${found.label}`;
  return new RefusedHostError(message, found.class === 'forbidden' ? undefined : formatHost(listed));
}
