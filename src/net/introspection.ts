// Asks an identity provider about opaque tokens (RFC 7662), rarely enough that a flood of tokens does not reach it.

import { isRecord } from '../core/json.js';
import type { IssuerSettings } from '../core/settings.js';
import { type Claims, invalid, type TokenFault, toUser, type Verified } from './claims.js';
import type { CreateFetch, Fetch } from './fetch.js';
import { addressOf, readMetadata } from './metadata.js';

export interface IntrospectionOptions {
  /** What tokens must be made for, if their issuer has no audience of its own. */
  readonly audience: string;
  /** Expands the reference to the client's secret. Throws if it has no value. */
  readonly expand: (reference: string) => Promise<string>;
  readonly createFetch: CreateFetch;
  readonly debug: (message: string) => void;
}

const FETCH_MS = 5000;
const MAX_BYTES = 64 * 1024;
const LEEWAY_SECONDS = 60;
// Requests at once, and then per second; those about tokens that were valid before are counted apart.
const BURST = 40;
const PER_SECOND = 10;
// A provider that is down is asked once a second.
const DOWN_MS = 1000;
// How long a token stays refused without asking again.
const REFUSED_MS = 10_000;
const MAX_REFUSED = 1000;
const UNAVAILABLE: TokenFault = { error: 'unavailable', reason: 'the provider cannot be asked now' };

/** Creates a function that asks about a token, once at a time; `isKnown`: it was valid before. */
export function createIntrospection(settings: IssuerSettings, options: IntrospectionOptions) {
  const { createFetch, debug, audience } = options;
  const { issuer } = settings;
  const introspection = settings.introspection!;
  const fetch = createFetch({
    url: introspection.url ?? issuer,
    anyOrigin: true,
    allowPrivate: true,
    confidential: true,
    timeoutMs: FETCH_MS,
    maxBytes: MAX_BYTES,
  });
  const buckets = { known: createBucket(), other: createBucket() };
  const refused = new Map<string, { readonly fault: TokenFault; readonly until: number }>();
  const asking = new Map<string, Promise<Verified | TokenFault>>();
  let endpoint: URL | undefined = introspection.url === undefined ? undefined : new URL(introspection.url);
  let failedAt = Number.NEGATIVE_INFINITY;
  const askProvider = async (token: string, isKnown: boolean): Promise<Verified | TokenFault> => {
    if (performance.now() - failedAt < DOWN_MS) return UNAVAILABLE;
    if (!buckets[isKnown ? 'known' : 'other']()) return UNAVAILABLE;
    try {
      endpoint ??= addressOf(await readMetadata(issuer, fetch), 'introspection_endpoint', issuer);
      const credentials = [introspection.clientId, await options.expand(introspection.clientSecret)];
      return readAnswer(await ask(token, endpoint, fetch, credentials), settings, audience);
    } catch (error) {
      failedAt = performance.now();
      debug(`${issuer} cannot be asked about a token: ${(error as Error).message}`);
      return UNAVAILABLE;
    }
  };
  const askOnce = async (token: string, digest: string, isKnown: boolean): Promise<Verified | TokenFault> => {
    const found = await askProvider(token, isKnown);
    asking.delete(digest);
    if (!('error' in found) || found.error === 'unavailable') return found;
    refused.delete(digest);
    refused.set(digest, { fault: found, until: performance.now() + REFUSED_MS });
    if (refused.size > MAX_REFUSED) refused.delete(refused.keys().next().value!);
    return found;
  };
  return async (token: string, digest: string, isKnown: boolean): Promise<Verified | TokenFault> => {
    const known = refused.get(digest);
    if (known !== undefined && known.until > performance.now()) return known.fault;
    const running = asking.get(digest) ?? askOnce(token, digest, isKnown);
    asking.set(digest, running);
    return running;
  };
}

async function ask(token: string, endpoint: URL, fetch: Fetch, credentials: readonly string[]): Promise<Claims> {
  const basic = credentials.map(encodeURIComponent).join(':');
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(basic).toString('base64')}`,
      accept: 'application/json',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`status ${response.status}`);
  }
  const answer: unknown = await response.json();
  if (!isRecord(answer) || typeof answer.active !== 'boolean') throw new Error('it did not answer as RFC 7662 says');
  return answer;
}

// The same checks as of a signed token: a provider knows tokens of many servers.
function readAnswer(answer: Claims, settings: IssuerSettings, audience: string): Verified | TokenFault {
  if (answer.active !== true) return invalid('it is not active');
  const { iss, aud, exp, nbf } = answer;
  if (iss !== undefined && iss !== settings.issuer) return invalid('it is of another issuer');
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(settings.audience ?? audience)) return invalid('it is for another audience');
  const now = Date.now() / 1000;
  if (typeof exp !== 'number' || exp + LEEWAY_SECONDS <= now) return invalid('it is expired');
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf - LEEWAY_SECONDS <= now)) return invalid('it is too early');
  return toUser(answer, settings);
}

// Returns a function that says whether one more request is allowed now.
function createBucket(): () => boolean {
  let left = BURST;
  let since = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(BURST, left + ((now - since) / 1000) * PER_SECOND);
    since = now;
    if (left < 1) return false;
    left--;
    return true;
  };
}
