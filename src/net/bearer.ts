// Bearer tokens of our own servers.

import { loadCrypto } from '../files/digest.js';

/** Whether an `Authorization` header has a token. Takes constant time for tokens of equal length; the length is not secret. */
export function hasToken(authorization: string | undefined, token: string): boolean {
  return isSecret(/^Bearer (.+)$/i.exec(authorization ?? '')?.[1] ?? '', token);
}

/** Compares a text that was sent with a secret, in constant time for equal lengths. */
export function isSecret(given: string, secret: string): boolean {
  const sent = Buffer.from(given);
  const expected = Buffer.from(secret);
  return sent.length === expected.length && loadCrypto().timingSafeEqual(sent, expected);
}
