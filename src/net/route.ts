// Which way a request takes: directly, or through the proxy of the network (NET-1).

import type { SecureContext } from 'node:tls';
import type { NetSettings } from '../core/settings.js';
import { bareHost, classifyHost, isAmong, parseAddress } from './address.js';

export interface ProxyServer {
  readonly url: URL;
  /** The value of its header `Proxy-Authorization`. */
  readonly authorization?: string | undefined;
}

/** The way of a request; the same object for the same way, so that connections are used again. */
export interface Route {
  readonly proxy?: ProxyServer | undefined;
  /** There is a proxy, which the request does not use. */
  readonly isExempt?: boolean;
  /** Has the certificate authorities, if they are not those of Node. */
  readonly context?: SecureContext | undefined;
  /** The same authorities, in PEM. */
  readonly authorities?: string | undefined;
}

export type FindRoute = (url: URL) => Promise<Route>;

export const DIRECT: Route = {};

/** Whether a request goes through the proxy; those to this machine never do, because a proxy has a loopback of its own. */
export function usesProxy(url: URL, { proxy, noProxy }: NetSettings): boolean {
  if (proxy === undefined || classifyHost(url.hostname).class === 'loopback') return false;
  const host = bareHost(url.hostname);
  return !noProxy.some((exception) => matches(exception.toLowerCase(), host, portOf(url)));
}

/** Returns the port of a URL, also if it is that of its scheme. */
export function portOf({ port, protocol }: URL): string {
  return port === '' ? (protocol === 'https:' ? '443' : '80') : port;
}

function matches(exception: string, host: string, port: string): boolean {
  const address = parseAddress(host) !== undefined;
  // An IPv6 address has colons of its own.
  const isPlain = exception.includes('/') || parseAddress(exception) !== undefined;
  const [, name = exception, wanted] = (isPlain ? null : /^(.*?)(?::(\d+))?$/.exec(exception)) ?? [];
  if (wanted !== undefined && wanted !== port) return false;
  if (name === '*') return true;
  if (address) return isAmong(host, [bareHost(name)]);
  return name.startsWith('*.') || name.startsWith('.')
    ? host.endsWith(name.replace(/^\*/, ''))
    : host === bareHost(name);
}
