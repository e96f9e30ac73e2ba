// Bearer tokens of our own servers.

import { timingSafeEqual } from 'node:crypto';

/** Whether an `Authorization` header has a token. Takes constant time for tokens of equal length; the length is not secret. */
export function hasToken(authorization: string | undefined, token: string): boolean {
  const sent = Buffer.from(/^Bearer (.+)$/i.exec(authorization ?? '')?.[1] ?? '');
  const expected = Buffer.from(token);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}
