// Who sent a request, as the server verified it, and the caller that this makes.

import type { Caller } from '../core/caller.js';

/** A user who is logged in. */
export interface Identity {
  /** What `$user=` matches. */
  readonly user: string;
  readonly groups: readonly string[];
  /** Who vouches for the user, if there are several. */
  readonly issuer?: string | undefined;
  /** The profile that limits the user. */
  readonly profile?: string | undefined;
}

/** Without a client name: rules do not depend on it, so every client of a user gets the same listing (POL-8). */
export const MODEL: Caller = { kind: 'model', door: 'mcp' };

export function toCaller(identity: Identity | undefined): Caller {
  if (identity === undefined) return MODEL;
  const { user, groups, issuer, profile } = identity;
  return {
    ...MODEL,
    user,
    groups,
    ...(issuer === undefined ? {} : { issuer }),
    ...(profile === undefined ? {} : { profile }),
  };
}

/** Names a user for tables of sessions, tasks and listings; undefined for requests without a login. */
export function identityKey(identity: Identity | undefined): string | undefined {
  return identity && JSON.stringify([identity.user, identity.issuer ?? null]);
}

/** Returns the owner that is there most often, who gives way to others; the first of several. Throws if there is none. */
export function findMost<T>(owners: readonly T[]): T {
  const counts = new Map<T, number>();
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}
