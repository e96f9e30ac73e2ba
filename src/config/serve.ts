// The table `[serve]`: who may use `wield serve --http`, by tokens of an identity provider or of named files.

import type { IssuerSettings, NamedToken } from '../core/settings.js';
import { checked, converted, list, object, optional, record, type Shape, strings, text } from '../core/shape.js';
import { reference } from './openapi.js';

const ISSUER = /^https:\/\/[^\s@?#]+$|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/[^\s@?#]*)?$/;

const introspection = converted(
  object({
    'client-id': text('the id of a client'),
    'client-secret': reference,
    url: optional(text('an address such as "https://id.example.com/introspect"', ISSUER)),
  }),
  ({ 'client-id': clientId, 'client-secret': clientSecret, url }) => ({ clientId, clientSecret, url }),
);

const issuer: Shape<IssuerSettings> = converted(
  object({
    issuer: text('an address such as "https://id.example.com"', ISSUER),
    audience: optional(text('the audience of tokens for this server')),
    'user-claim': optional(text('the name of a claim')),
    'groups-claim': optional(text('the name of a claim')),
    'client-id': optional(text('the id of a client')),
    scopes: optional(strings),
    introspection: optional(introspection),
  }),
  (given) => ({
    issuer: given.issuer,
    audience: given.audience,
    userClaim: given['user-claim'] ?? 'sub',
    groupsClaim: given['groups-claim'] ?? 'groups',
    clientId: given['client-id'],
    scopes: given.scopes ?? [],
    introspection: given.introspection,
  }),
);

const issuers = list(issuer, 'an array of tables');

/** One issuer, or several as an array of tables. */
export const authTable: Shape<readonly IssuerSettings[]> = checked(
  {
    expected: 'a table with an issuer',
    toSchema: () => ({ anyOf: [issuer.toSchema(), issuers.toSchema()] }),
    read(value, report) {
      if (Array.isArray(value)) return issuers.read(value, report);
      const one = issuer.read(value, report);
      return one && [one];
    },
  },
  (all, fail) => {
    if (new Set(all.map((one) => one.issuer)).size < all.length)
      fail([], 'names an issuer twice', 'keep one table for each issuer');
    // A token would be sent to a provider that did not issue it.
    if (all.filter((one) => one.introspection !== undefined).length > 1)
      fail([], 'has introspection twice', 'keep it for the one provider whose tokens are opaque');
  },
);

/** Tokens by name. */
export const tokensTable: Shape<readonly NamedToken[]> = converted(
  record(
    object({
      file: text('the path of a file with a token', /^[/~]/),
      groups: optional(strings),
      profile: optional(text('the name of a profile')),
    }),
    {
      keyPattern: '^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$',
      findFault: (name) =>
        /^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$/.test(name)
          ? undefined
          : 'is not a name of letters, digits, ".", "_", "@" and "-"',
    },
  ),
  (given) => Object.entries(given).map(([user, { file, groups = [], profile }]) => ({ user, file, groups, profile })),
);
