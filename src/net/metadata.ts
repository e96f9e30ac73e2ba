// The metadata of an identity provider: OpenID Connect discovery, or RFC 8414.

import { isRecord } from '../core/json.js';
import type { Claims } from './claims.js';
import type { Fetch } from './fetch.js';

/** Reads the metadata of an issuer. Throws if there is none, or it is of another issuer. */
export async function readMetadata(issuer: string, fetch: Fetch): Promise<Claims> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  // The two name the document differently.
  const addresses = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  for (const address of addresses) {
    const response = await fetch(address, { headers: { accept: 'application/json' } });
    if (!response.ok) {
      await response.body?.cancel();
      continue;
    }
    const document: unknown = await response.json().catch(() => undefined);
    // Some providers answer every address with a page.
    if (!isRecord(document)) continue;
    if (document.issuer !== issuer) throw new Error(`${address} is of another issuer`);
    return document;
  }
  throw new Error('it has no metadata');
}

/** Returns an address of the metadata, encrypted if the issuer is. */
export function addressOf(metadata: Claims, name: string, issuer: string): URL {
  const text = String(metadata[name]);
  if (!URL.canParse(text)) throw new Error(`its metadata has no ${name}`);
  const url = new URL(text);
  if (url.protocol !== 'https:' && new URL(issuer).protocol === 'https:') throw new Error(`its ${name} needs https`);
  return url;
}
