// Which way a request takes: directly, or through the proxy of the network (NET-1), which no variable sets (NET-7).

import type { SecureContext } from 'node:tls';
import type { NetSettings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
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

const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

/** Returns the variable of a proxy that is set, though no proxy is configured. */
export function findUnused({ proxy }: NetSettings, env: World['env']): string | undefined {
  return proxy === undefined ? PROXIES.find((name) => env[name]) : undefined;
}

/** Says that a variable is not used, and what to do; without the user and password that it may have. */
export function describeUnused(name: string, env: World['env']): { readonly message: string; readonly hint: string } {
  const value = env[name] ?? '';
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const address = url !== undefined && /^https?:$/.test(url.protocol) ? url.origin : 'http://proxy.example.com:3128';
  return {
    message: `${name} is set, but wield uses only a proxy of its own configuration`,
    hint: `set proxy = "${quoteOutside(address, 100)}" in [net] of ~/.wield/config.toml`,
  };
}
