// The table `[net]`: the proxy of the network, its exceptions, and further certificate authorities.

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

function isException(text: string): boolean {
  const { isIP } = process.getBuiltinModule('node:net');
  const [, address = '', bits] = /^([\da-fA-F:.]+)\/(\d{1,3})$/.exec(text) ?? [];
  if (bits !== undefined) return isIP(address) !== 0 && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
  if (isIP(text) !== 0) return true;
  return /^(?:\*|(?:\*?\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(text);
}
