// One-time links with which users of a server log in to upstream servers: each is for one user and one server (IDN-21).

import { type Deferred, deferred } from '../../core/async.js';
import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { loadCrypto } from '../../files/digest.js';
import { type LoginUser, toUserKey } from './user.js';

/** A login that a user needs. */
export interface WantedLogin {
  /** As written. */
  readonly server: HttpServer;
  readonly user: LoginUser;
  /** Expands the references of the entry. */
  readonly expand: () => Promise<HttpServer>;
  /** Where the logins of the user are stored. */
  readonly directory: string;
  readonly world: World;
}

export interface LoginLink {
  readonly id: string;
  readonly wanted: WantedLogin;
  /** Resolved when the login is stored. */
  readonly done: Deferred<void>;
  /** In milliseconds, by the clock of the links. */
  readonly until: number;
}

export const LINK_MS = 10 * 60_000;
// A link that is shown again must be usable for a while.
const LEAST_MS = 2 * 60_000;
const MAX_LINKS = 1000;

/** Returns 256 random bits for a link, a state or a cookie. */
export function createSecret(): string {
  return loadCrypto().randomBytes(32).toString('base64url');
}

/** Things that are taken once, by a secret, until they are too old. */
export function createOneTime<T extends { readonly until: number }>(now: () => number) {
  const all = new Map<string, T>();
  // The secret itself is not the key: how long a comparison takes says nothing about it.
  const keyOf = (secret: string): string => loadCrypto().createHash('sha256').update(secret).digest('base64');
  const find = (secret: string): T | undefined => {
    const found = all.get(keyOf(secret));
    return found !== undefined && found.until > now() ? found : undefined;
  };
  return {
    find,
    add(secret: string, value: T): void {
      for (const [key, { until }] of all) if (until <= now()) all.delete(key);
      all.set(keyOf(secret), value);
      if (all.size > MAX_LINKS) all.delete(all.keys().next().value!);
    },
    /** Returns it and forgets it. */
    take(secret: string): T | undefined {
      const found = find(secret);
      all.delete(keyOf(secret));
      return found;
    },
    values: (): Iterable<T> => all.values(),
  };
}

/** Creates the links of a server process. */
export function createLinks(now: () => number) {
  const links = createOneTime<LoginLink>(now);
  const isFor = ({ wanted }: LoginLink, { server, user }: WantedLogin): boolean =>
    toUserKey(wanted.user) === toUserKey(user) &&
    wanted.server.name === server.name &&
    wanted.server.url === server.url;
  return {
    find: links.find,
    take: links.take,
    /** Returns a link for a login: one that was not used yet, or another one. */
    open(wanted: WantedLogin): LoginLink {
      const known = [...links.values()].find((link) => isFor(link, wanted) && link.until - now() >= LEAST_MS);
      if (known !== undefined) return known;
      const link: LoginLink = { id: createSecret(), wanted, done: deferred(), until: now() + LINK_MS };
      links.add(link.id, link);
      return link;
    },
  };
}
