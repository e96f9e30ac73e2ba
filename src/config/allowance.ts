// The lists `[mcp] allow`, `[sources] allow` and `[sources] signers`.

import { type AllowedServer, isSourcePattern, isUrlPattern } from '../core/allowance.js';
import { checked, list, object, optional, type Shape, strings, text } from '../core/shape.js';

const server: Shape<AllowedServer> = checked(
  object({
    url: optional(text('a URL such as "https://*.example.com/*"')),
    command: optional(strings),
    registry: optional(text('a name such as "com.example/*"', /^\S*[^/\s]\/[^/\s]+$/)),
  }),
  (given, fail) => {
    const { url, command } = given;
    if (Object.keys(given).length !== 1) fail([], 'must have one of url, command and registry', 'write several tables');
    if (url !== undefined && !isUrlPattern(url))
      fail(['url'], 'must be a URL with a path', 'such as "https://*.example.com/*"');
    if (command?.length === 0 || command?.[0] === '')
      fail(['command'], 'must be a command line', 'such as ["npx", "-y", "x@1.2.3"]');
  },
  { minProperties: 1, maxProperties: 1 },
);

/** Servers by URL, command line or name in the registry. */
export const allowedServers: Shape<readonly AllowedServer[]> = list(server, 'an array of tables');

/** Sources by host and path, or by directory. */
export const allowedSources: Shape<readonly string[]> = checked(
  list(text('an address such as "github.com/acme/*"'), 'an array of addresses'),
  (given, fail) => {
    for (const [at, one] of given.entries())
      if (!isSourcePattern(one))
        fail(
          [at],
          'must be a host and a path, or a directory',
          'such as "github.com/acme/*" or "/srv/skills/*", without https://',
        );
  },
);

const SIGNER =
  /^(?:~?\/\S.*|(?:ssh|ecdsa|sk)-[\w@.-]+ [A-Za-z0-9+/]+=*(?: .*)?|(?:0x)?[0-9A-Fa-f]{40}(?:[0-9A-Fa-f]{24})?)$/;

/** Keys of signers, and files of them. */
export const signers: Shape<readonly string[]> = checked(
  list(text('a key or file such as "~/.ssh/allowed_signers"', SIGNER), 'an array of keys and files'),
  (given, fail) => {
    if (given.length === 0) fail([], 'must name a signer', 'such as "~/.ssh/allowed_signers"');
  },
  { minItems: 1 },
);
