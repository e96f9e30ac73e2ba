// Proxy variables of the environment, which requests do not use (NET-7).

import type { NetSettings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';

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
