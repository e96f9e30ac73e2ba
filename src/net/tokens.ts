// Verifies access tokens of identity providers (RFC 9068): JSON Web Tokens, signed with keys that the provider publishes.

import type { JSONWebKeySet, JWTVerifyResult } from 'jose';
import { isToolError, orNothing } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { IssuerSettings } from '../core/settings.js';
import { words } from '../core/text.js';
import { loadCrypto } from '../files/digest.js';
import { invalid, type TokenFault, type TokenUser, toUser, type Verified } from './claims.js';
import { createIntrospection, type IntrospectionOptions } from './introspection.js';
import { addressOf, readMetadata } from './metadata.js';

export type VerifyToken = (token: string) => Promise<TokenUser | TokenFault>;

export interface VerifierOptions extends IntrospectionOptions {
  readonly issuers: readonly IssuerSettings[];
}

type KeyOptions = Pick<VerifierOptions, 'createFetch' | 'debug'>;

// Symmetric algorithms would make a published key a secret, and `none` needs no key.
const ALGORITHMS = words('RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519');
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt'];
const LEEWAY_SECONDS = 60;
const MAX_TOKEN = 12 * 1024;
const FETCH_MS = 5000;
const MAX_BYTES = 1024 * 1024;
// At most once a minute for a key that is not known, and every ten minutes for keys that were withdrawn.
const COOLDOWN_MS = 60_000;
const RELOAD_MS = 10 * 60_000;
// A provider that is down is asked once a second.
const RETRY_MS = 1000;
// A verified token is not verified again for a minute.
const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 1000;

/** Creates a function that verifies tokens. It never rejects, and never repeats a token. */
export function createVerifier(options: VerifierOptions): VerifyToken {
  const { issuers, audience } = options;
  const providers = new Map<unknown, Provider>(
    issuers.map((one) => [one.issuer, createProvider(one, audience, options)]),
  );
  // Only one issuer has it: the token of one must not be sent to another.
  const opaque = issuers.find(({ introspection }) => introspection !== undefined);
  const introspect = opaque && createIntrospection(opaque, options);
  const verified = new Map<string, { readonly found: Verified; readonly until: number }>();
  const verify = async (token: string, digest: string): Promise<Verified | TokenFault> => {
    if (!isSigned(token))
      return introspect?.(token, digest, verified.has(digest)) ?? invalid('opaque tokens are not accepted here');
    const provider = providers.get(issuerOf(token));
    if (provider === undefined) return invalid('the token is not of an issuer that is configured here');
    return provider(token);
  };
  return async (token) => {
    if (token.length > MAX_TOKEN) return invalid('the token is too long');
    const digest = loadCrypto().createHash('sha256').update(token).digest('base64');
    const known = verified.get(digest);
    // IDN-13: the system's clock may be set back.
    if (known !== undefined && known.until > performance.now() && known.found.expires * 1000 > Date.now())
      return toTokenUser(known.found);
    const found = await verify(token, digest);
    if ('error' in found) {
      // One that cannot be checked now may be valid again.
      if (found.error !== 'unavailable') verified.delete(digest);
      return found;
    }
    verified.delete(digest);
    verified.set(digest, { found, until: performance.now() + REMEMBER_MS });
    if (verified.size > MAX_REMEMBERED) verified.delete(verified.keys().next().value!);
    return toTokenUser(found);
  };
}

function toTokenUser({ expires, ...user }: Verified): TokenUser {
  return user;
}

// Such a token is never sent to a provider, also if its signature is wrong.
function isSigned(token: string): boolean {
  const parts = token.split('.');
  return parts.length === 3 && isRecord(decode(parts[0]!));
}

type Provider = (token: string) => Promise<Verified | TokenFault>;

function createProvider(settings: IssuerSettings, audience: string, options: KeyOptions): Provider {
  const verify = createSignatures(settings, options);
  return async (token) => {
    const found = await verify(token, settings.audience ?? audience);
    if ('reason' in found) return invalid(found.reason);
    const { typ } = found.protectedHeader;
    if (typ !== undefined && !TYPES.includes(typ.toLowerCase())) return invalid('it is not an access token');
    return toUser(found.payload, settings);
  };
}

/** Creates a function that returns the user of an ID token for a client (OpenID Connect); undefined if it is not valid. */
export function createIdTokenVerifier(settings: IssuerSettings, options: KeyOptions) {
  const verify = createSignatures(settings, options);
  return async (token: string, { clientId, nonce }: { readonly clientId: string; readonly nonce: string }) => {
    if (token.length > MAX_TOKEN) return undefined;
    const found = await verify(token, clientId);
    if ('reason' in found) {
      options.debug(`an ID token was refused: ${found.reason}`);
      return undefined;
    }
    const { payload } = found;
    const user = payload[settings.userClaim];
    return payload.nonce === nonce && typeof user === 'string' ? user : undefined;
  };
}

/** Returns a function that checks the signature of a token, for whom it was made, and its times. It never rejects. */
function createSignatures({ issuer }: IssuerSettings, options: KeyOptions) {
  const keys = createKeys(issuer, options);
  return async (token: string, audience: string): Promise<JWTVerifyResult | { readonly reason: string }> => {
    const { errors, jwtVerify } = await import('jose');
    const wanted = {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: LEEWAY_SECONDS,
      requiredClaims: ['exp'],
    };
    const check = async (read: FindKey): Promise<JWTVerifyResult> => {
      try {
        return await jwtVerify(token, read, wanted);
      } catch (error) {
        if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
        // The token has no `kid`, or several keys have the same.
        for await (const key of error) {
          const found = await jwtVerify(token, key, wanted).catch((fault: Error) => fault);
          if (!(found instanceof errors.JWSSignatureVerificationFailed)) return orThrow(found);
        }
        throw new errors.JWSSignatureVerificationFailed();
      }
    };
    try {
      const known = await keys();
      if (known === undefined) return { reason: 'the keys of the issuer cannot be read' };
      return await check(known).catch(async (error: unknown) => {
        const isUnknown = error instanceof errors.JWKSNoMatchingKey;
        const newer = isUnknown ? await keys(COOLDOWN_MS) : undefined;
        if (newer === undefined || newer === known) throw error;
        return check(newer);
      });
    } catch (error) {
      return { reason: describe(error, errors.JOSEError) };
    }
  };
}

function orThrow<T extends object>(found: T | Error): T {
  if (found instanceof Error) throw found;
  return found;
}

// Errors of the library name claims and headers, and never their values.
function describe(error: unknown, known: new (...args: never[]) => Error): string {
  return error instanceof known
    ? error.message
    : isToolError(error)
      ? 'the keys of the issuer cannot be read'
      : 'it cannot be read';
}

// Not verified yet: only decides whose keys are used.
function issuerOf(token: string): unknown {
  const payload = decode(token.split('.')[1] ?? '');
  return isRecord(payload) ? payload.iss : undefined;
}

function decode(part: string): unknown {
  return orNothing((): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')));
}

type FindKey = ReturnType<typeof import('jose').createLocalJWKSet>;

/**
 * Returns a function that returns the provider's keys: read on first use, and again when they are older than `maxAge`. They
 * are kept while the provider is down.
 */
function createKeys(issuer: string, { createFetch, debug }: KeyOptions) {
  const fetch = createFetch({
    url: issuer,
    anyOrigin: true,
    allowPrivate: true,
    timeoutMs: FETCH_MS,
    maxBytes: MAX_BYTES,
  });
  let found: FindKey | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    try {
      const { createLocalJWKSet } = await import('jose');
      // Read again too: the keys may have moved.
      const url = addressOf(await readMetadata(issuer, fetch), 'jwks_uri', issuer);
      const response = await fetch(url.href, { headers: { accept: 'application/json' } });
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`its jwks_uri answered ${response.status}`);
      }
      found = createLocalJWKSet((await response.json()) as JSONWebKeySet);
    } catch (error) {
      debug(
        `the keys of ${issuer} cannot be read${found ? ', and stay as they are' : ''}: ${(error as Error).message}`,
      );
    } finally {
      triedAt = performance.now();
      reading = undefined;
    }
  };
  return async (maxAge?: number): Promise<FindKey | undefined> => {
    const age = performance.now() - triedAt;
    if (age > (found === undefined ? RETRY_MS : (maxAge ?? RELOAD_MS))) reading ??= read();
    // Keys that are merely old are read again in the background.
    if (found === undefined || maxAge !== undefined) await reading;
    return found;
  };
}
