// Addresses: the proxy of the network and its exceptions, further certificate authorities, and proxies in front of a server.

import { checked, described, type Shape, strings, text } from '../core/shape.js';

/** The address of a proxy. */
export const proxyAddress: Shape<string> = checked(
  text('an address such as "http://proxy.corp:3128"', /^[a-z][a-z0-9+.-]*:\/\/\S+$/i),
  (given, fail) => {
    const url = URL.canParse(given) ? new URL(given) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      return fail(
        [],
        'must be an address such as "http://proxy.corp:3128"',
        'SOCKS and scripts (PAC) are not supported',
      );
    if (url.username !== '' || url.password !== '')
      return fail([], 'contains credentials', 'write user:password elsewhere, and a reference to it as proxy-auth');
    if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
      fail([], 'must end after the port', `write "${url.origin}"`);
  },
);

/** Hosts that are reached without a proxy. */
export const exceptions: Shape<readonly string[]> = checked(
  described(strings, 'an array of hosts such as "*.corp" and "10.0.0.0/8"'),
  (all, fail) => {
    for (const [at, host] of all.entries())
      if (!isException(host)) fail([at], 'must be a name, "*.domain", an address or a range such as "10.0.0.0/8"');
  },
);

/** A file of certificates. */
export const caFile: Shape<string> = text('the path of a file, absolute or from the home', /^(?:\/|~\/)[^\0]+$/);

/** Addresses and ranges of proxies. */
export const proxyList: Shape<readonly string[]> = checked(
  described(strings, 'an array of addresses and ranges such as "10.0.0.0/8"'),
  (all, fail) => {
    for (const [at, range] of all.entries())
      if (range.includes('%') || !isAddress(range, 1)) fail([at], 'must be an address or a range such as "10.0.0.0/8"');
  },
);

function isException(text: string): boolean {
  return (
    isAddress(text, 0) ||
    /^(?:\*|(?:\*?\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(text)
  );
}

// An address, or a range with so many bits at least.
function isAddress(text: string, leastBits: number): boolean {
  const { isIP } = process.getBuiltinModule('node:net');
  const [address = '', bits, ...more] = text.split('/');
  if (isIP(address) === 0 || more.length > 0 || (bits !== undefined && address.includes('%'))) return false;
  return (
    bits === undefined ||
    (/^\d{1,3}$/.test(bits) && Number(bits) >= leastBits && Number(bits) <= (isIP(address) === 4 ? 32 : 128))
  );
}
