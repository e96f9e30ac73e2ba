// Verifies access tokens of identity providers (RFC 9068): JSON Web Tokens, signed with keys that the provider publishes.

import { createHash } from 'node:crypto';
import { isToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { IssuerSettings } from '../core/settings.js';
import { createGuardedFetch, type Fetch } from './fetch.js';

/** A user, as a token says. */
export interface TokenUser {
  readonly user: string;
  readonly groups: readonly string[];
  readonly issuer: string;
}

/** Why a token is refused; the reason contains nothing of it. */
export interface TokenFault {
  readonly error: 'invalid_token' | 'insufficient_scope';
  readonly reason: string;
}

export type VerifyToken = (token: string) => Promise<TokenUser | TokenFault>;

export interface VerifierOptions {
  readonly issuers: readonly IssuerSettings[];
  /** Of issuers without one of their own. */
  readonly audience: string;
  readonly debug: (message: string) => void;
}

// Symmetric algorithms would make a published key a secret, and `none` needs no key.
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt'];
const LEEWAY_SECONDS = 60;
const MAX_TOKEN = 12 * 1024;
const MAX_USER = 256;
const MAX_GROUPS = 500;
const FETCH_MS = 5000;
const MAX_BYTES = 1024 * 1024;
// At most once a minute for a key that is not known, and every ten minutes for keys that were withdrawn.
const COOLDOWN_MS = 60_000;
const RELOAD_MS = 10 * 60_000;
// A verified token is not verified again for a minute.
const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 1000;

/** Creates a function that verifies tokens. It never rejects, and never repeats a token. */
export function createVerifier({ issuers, audience, debug }: VerifierOptions): VerifyToken {
  const providers = new Map(issuers.map((one) => [one.issuer, createProvider(one, audience, debug)]));
  const verified = new Map<string, { readonly user: TokenUser; readonly until: number }>();
  return async (token) => {
    if (token.length > MAX_TOKEN) return invalid('the token is too long');
    const digest = createHash('sha256').update(token).digest('base64');
    const known = verified.get(digest);
    if (known !== undefined && known.until > Date.now()) return known.user;
    verified.delete(digest);
    const issuer = issuerOf(token);
    const provider = issuer === undefined ? undefined : providers.get(issuer);
    if (provider === undefined) return invalid('the token is not of an issuer that is configured here');
    const found = await provider(token);
    if ('error' in found) return found;
    const { expires, ...user } = found;
    verified.set(digest, { user, until: Math.min(expires * 1000, Date.now() + REMEMBER_MS) });
    if (verified.size > MAX_REMEMBERED) verified.delete(verified.keys().next().value!);
    return user;
  };
}

type Verified = TokenUser & { readonly expires: number };

function createProvider(
  settings: IssuerSettings,
  audience: string,
  debug: (message: string) => void,
): (token: string) => Promise<Verified | TokenFault> {
  const keys = createKeys(settings, debug);
  return async (token) => {
    const jose = await import('jose');
    const getKey = await keys();
    if (getKey === undefined) return invalid('the keys of the issuer cannot be read');
    try {
      const { payload, protectedHeader } = await jose.jwtVerify(token, getKey, {
        issuer: settings.issuer,
        audience: settings.audience ?? audience,
        algorithms: ALGORITHMS,
        clockTolerance: LEEWAY_SECONDS,
        requiredClaims: ['exp'],
      });
      const { typ } = protectedHeader;
      if (typ !== undefined && !TYPES.includes(typ.toLowerCase())) return invalid('it is not an access token');
      return toUser(payload, settings);
    } catch (error) {
      return invalid(describe(error, jose.errors.JOSEError));
    }
  };
}

/** Creates a function that returns the user of an ID token for a client (OpenID Connect); undefined if it is not valid. */
export function createIdTokenVerifier(settings: IssuerSettings, debug: (message: string) => void) {
  const keys = createKeys(settings, debug);
  return async (token: string, { clientId, nonce }: { readonly clientId: string; readonly nonce: string }) => {
    const jose = await import('jose');
    const getKey = await keys();
    if (getKey === undefined || token.length > MAX_TOKEN) return undefined;
    try {
      const { payload } = await jose.jwtVerify(token, getKey, {
        issuer: settings.issuer,
        audience: clientId,
        algorithms: ALGORITHMS,
        clockTolerance: LEEWAY_SECONDS,
        requiredClaims: ['exp'],
      });
      const user = payload[settings.userClaim];
      return payload.nonce === nonce && typeof user === 'string' ? user : undefined;
    } catch (error) {
      debug(`an ID token was refused: ${describe(error, jose.errors.JOSEError)}`);
      return undefined;
    }
  };
}

// Errors of the library name claims and headers, and never their values.
function describe(error: unknown, known: new (...args: never[]) => Error): string {
  return error instanceof known
    ? error.message
    : isToolError(error)
      ? 'the keys of the issuer cannot be read'
      : 'it cannot be read';
}

function toUser(payload: Readonly<Record<string, unknown>>, settings: IssuerSettings): Verified | TokenFault {
  const { userClaim, groupsClaim, scopes, issuer } = settings;
  const granted = scopesOf(payload);
  const missing = scopes.filter((scope) => !granted.includes(scope));
  if (missing.length > 0) return { error: 'insufficient_scope', reason: `it lacks the scope ${missing.join(' ')}` };
  const user = payload[userClaim];
  if (typeof user !== 'string' || !isName(user)) return invalid(`it has no valid claim ${userClaim}`);
  const groups = payload[groupsClaim] ?? [];
  const list = typeof groups === 'string' ? [groups] : groups;
  if (!Array.isArray(list) || list.length > MAX_GROUPS || !list.every((one) => typeof one === 'string' && isName(one)))
    return invalid(`its claim ${groupsClaim} is not a list of names`);
  return { user, groups: [...new Set(list as string[])].sort(), issuer, expires: payload.exp as number };
}

function isName(text: string): boolean {
  return text !== '' && text.length <= MAX_USER && !/\p{C}/u.test(text);
}

// `scope` is one text in RFC 9068; some providers send lists, or call it `scp`.
function scopesOf({ scope, scp }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return [scope, scp].flatMap((one) => (typeof one === 'string' ? one.split(' ') : Array.isArray(one) ? one : []));
}

// Not verified yet: only decides whose keys are used.
function issuerOf(token: string): string | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return isRecord(payload) && typeof payload.iss === 'string' ? payload.iss : undefined;
  } catch {
    return undefined;
  }
}

type GetKey = Parameters<typeof import('jose').jwtVerify>[1] & { reload(): Promise<void> };

/** Returns a function that finds the provider's keys: read on first use, kept while the provider is down. */
function createKeys({ issuer }: IssuerSettings, debug: (message: string) => void): () => Promise<GetKey | undefined> {
  const fetch = createGuardedFetch({
    url: issuer,
    anyOrigin: true,
    allowPrivate: true,
    timeoutMs: FETCH_MS,
    maxBytes: MAX_BYTES,
  });
  let found: GetKey | undefined;
  let reloaded = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  let finding: Promise<GetKey | undefined> | undefined;
  const find = async (): Promise<GetKey | undefined> => {
    try {
      const { createRemoteJWKSet, customFetch } = await import('jose');
      const url = await discover(issuer, fetch);
      const keys = createRemoteJWKSet(url, {
        cooldownDuration: COOLDOWN_MS,
        cacheMaxAge: Number.POSITIVE_INFINITY,
        timeoutDuration: FETCH_MS,
        [customFetch]: (target: string, init: RequestInit) => fetch(target, init),
      });
      await keys.reload();
      reloaded = performance.now();
      return keys as unknown as GetKey;
    } catch (error) {
      failedAt = performance.now();
      debug(`the keys of ${issuer} cannot be read: ${(error as Error).message}`);
      return undefined;
    } finally {
      finding = undefined;
    }
  };
  return async () => {
    if (found === undefined) {
      // A provider that is down is asked once a second.
      if (performance.now() - failedAt < 1000) return undefined;
      finding ??= find();
      found = await finding;
      return found;
    }
    if (performance.now() - reloaded > RELOAD_MS) {
      reloaded = performance.now();
      found.reload().catch((error: Error) => debug(`the keys of ${issuer} stay as they are: ${error.message}`));
    }
    return found;
  };
}

// RFC 8414 and OpenID Connect name the document differently.
async function discover(issuer: string, fetch: Fetch): Promise<URL> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
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
    const document: unknown = await response.json();
    if (!isRecord(document) || document.issuer !== issuer) throw new Error(`${address} is of another issuer`);
    const keys = String(document.jwks_uri);
    if (!URL.canParse(keys)) throw new Error(`${address} names no keys`);
    const url = new URL(keys);
    if (url.protocol !== 'https:' && new URL(issuer).protocol === 'https:') throw new Error('its keys need https');
    return url;
  }
  throw new Error('it has no metadata');
}

function invalid(reason: string): TokenFault {
  return { error: 'invalid_token', reason };
}
