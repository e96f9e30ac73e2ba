// Reads the `oauth` table of a server entry: a registered client, and how it logs in without a person.

import { GRANTS, type OAuthSettings } from '../../core/upstream.js';
import { checkString, type FieldSource, type Fields, tableOf } from './fields.js';

const FIELDS = ['clientId', 'clientSecret', 'scope', 'issuer', 'grant', 'privateKey', 'assertion'] as const;
type Key = (typeof FIELDS)[number];

/** An invalid table is reported and omitted. */
export function readOAuth(source: FieldSource): OAuthSettings | undefined {
  const table = tableOf(source, 'oauth');
  if (table === undefined) return undefined;
  for (const key of Object.keys(table)) {
    if (!(FIELDS as readonly string[]).includes(key))
      source.error(['oauth', key], 'is not a field of oauth', `known fields: ${FIELDS.join(', ')}`);
  }
  if (table.clientId === undefined) source.error(['oauth'], 'has no "clientId"', 'add "clientId" or remove oauth');
  const given = FIELDS.flatMap((key) => {
    const text = table[key] === undefined ? undefined : checkString(source, table[key], ['oauth', key]);
    return text === undefined ? [] : [[key, text] as const];
  });
  const fault = findFault(table);
  if (fault !== undefined) source.error(...fault);
  const settings = Object.fromEntries(given) as Partial<Record<Key, string>>;
  return settings.clientId === undefined ? undefined : (settings as unknown as OAuthSettings);
}

function findFault({ grant, issuer, clientSecret, privateKey, assertion }: Fields): Fault | undefined {
  if (typeof issuer === 'string' && !issuer.includes('${') && !/^https?:\/\/./.test(issuer))
    return [['oauth', 'issuer'], 'must begin with https://', 'write the issuer as its metadata names it'];
  if (grant === undefined) {
    const odd = privateKey !== undefined ? 'privateKey' : assertion !== undefined ? 'assertion' : undefined;
    return odd && [['oauth', odd], 'is used with a grant only', `add "grant": "${GRANTS.join('" or "')}"`];
  }
  if (!(GRANTS as readonly unknown[]).includes(grant))
    return [['oauth', 'grant'], `must be "${GRANTS.join('" or "')}"`, 'remove it to log in with a browser'];
  if (issuer === undefined)
    return [['oauth'], 'has a grant and no "issuer"', 'add "issuer": the login server that may get its credentials'];
  if (clientSecret !== undefined && privateKey !== undefined)
    return [['oauth'], 'has both "clientSecret" and "privateKey"', 'keep one of them'];
  if (grant === 'jwt_bearer')
    return assertion === undefined ? [['oauth'], 'has no "assertion"', 'add "assertion": "file:…"'] : undefined;
  if (assertion !== undefined) return [['oauth', 'assertion'], 'is used with the grant "jwt_bearer" only', 'remove it'];
  return clientSecret === undefined && privateKey === undefined
    ? [['oauth'], 'has neither "clientSecret" nor "privateKey"', 'add one of them, as a reference']
    : undefined;
}

type Fault = Parameters<FieldSource['error']>;
