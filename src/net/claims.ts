// What a verified token says: its user and groups, and whether it has the scopes that are needed.

import type { IssuerSettings } from '../core/settings.js';

/** A user, as a token says. */
export interface TokenUser {
  readonly user: string;
  readonly groups: readonly string[];
  readonly issuer: string;
}

/** A user, and until when the token is valid in seconds since 1970. */
export type Verified = TokenUser & { readonly expires: number };

/** Why a token is refused; the reason contains nothing of it. `unavailable`: it could not be checked. */
export interface TokenFault {
  readonly error: 'invalid_token' | 'insufficient_scope' | 'unavailable';
  readonly reason: string;
}

export type Claims = Readonly<Record<string, unknown>>;

const MAX_USER = 256;
const MAX_GROUPS = 500;

/** Reads the user of claims whose origin, audience and time were checked. */
export function toUser(claims: Claims, settings: IssuerSettings): Verified | TokenFault {
  const { userClaim, groupsClaim, scopes, issuer } = settings;
  const granted = scopesOf(claims);
  const missing = scopes.filter((scope) => !granted.includes(scope));
  if (missing.length > 0) return { error: 'insufficient_scope', reason: `it lacks the scope ${missing.join(' ')}` };
  const user = claims[userClaim];
  if (typeof user !== 'string' || !isName(user)) return invalid(`it has no valid claim ${userClaim}`);
  const groups = claims[groupsClaim] ?? [];
  const list = typeof groups === 'string' ? [groups] : groups;
  if (!Array.isArray(list) || list.length > MAX_GROUPS || !list.every((one) => typeof one === 'string' && isName(one)))
    return invalid(`its claim ${groupsClaim} is not a list of names`);
  return { user, groups: [...new Set(list as string[])].sort(), issuer, expires: claims.exp as number };
}

export function invalid(reason: string): TokenFault {
  return { error: 'invalid_token', reason };
}

function isName(text: string): boolean {
  return text !== '' && text.length <= MAX_USER && !/\p{C}/u.test(text);
}

// `scope` is one text in RFC 9068; some providers send lists, or call it `scp`.
function scopesOf({ scope, scp }: Claims): readonly unknown[] {
  return [scope, scp].flatMap((one) => (typeof one === 'string' ? one.split(' ') : Array.isArray(one) ? one : []));
}
