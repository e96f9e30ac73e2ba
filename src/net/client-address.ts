// The address of the client of a request: that of the connection, or what trusted proxies say about it (IDN-14).

import { isAmong, normalizeAddress } from './address.js';

export interface RequestPeer {
  /** The address of the connection; undefined if it is not known. */
  readonly address: string | undefined;
  /** `X-Forwarded-For`, all lines of it. */
  readonly forwardedFor: string | undefined;
  /** `Forwarded` (RFC 7239). */
  readonly forwarded: string | undefined;
}

const MAX_HOPS = 32;

/** Returns the client's address. Headers count only if a trusted proxy sent them, and only as far as such proxies added to them. */
export function findClient(peer: RequestPeer, proxies: readonly string[]): string | undefined {
  const { address, forwardedFor, forwarded } = peer;
  let client = address && normalizeAddress(address);
  // A proxy writes one of them, and may pass on the other as the client sent it.
  if (client === undefined || (forwardedFor !== undefined && forwarded !== undefined)) return client;
  const hops = forwardedFor !== undefined ? forwardedFor.split(',').map((hop) => hop.trim()) : readForwarded(forwarded);
  // The last one was added by the proxy that is connected.
  for (const hop of hops.slice(-MAX_HOPS).reverse()) {
    if (!isAmong(client, proxies)) return client;
    const next = normalizeAddress(withoutPort(hop));
    if (next === undefined) return client;
    client = next;
  }
  return client;
}

// Quotes may contain separators, which no address has; such a header does not count.
function readForwarded(header = ''): readonly string[] {
  if (header === '' || /"[^"]*[,;][^"]*"/.test(header)) return [];
  return header.split(',').map((element) => {
    const values = element.split(';').flatMap((pair) => /^\s*for=(.*?)\s*$/i.exec(pair)?.[1] ?? []);
    return values.length === 1 ? values[0]!.replace(/^"(.*)"$/, '$1') : '';
  });
}

function withoutPort(hop: string): string {
  return hop.replace(/^\[([0-9a-f:.]+)\](?::\d+)?$/i, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
}
