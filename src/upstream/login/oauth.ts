// Provides the token of a stored login to the SDK and renews it.

import { isToolError, ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { withLock } from '../../files/lock.js';
import type { Lookup } from '../../net/exchange.js';
import { showUrl, unreachable } from '../../net/fault.js';
import { createGuardedFetch, type Fetch, sentAuthorization } from '../../net/fetch.js';
import type { AuthProvider } from '../sdk.js';
import { hasGrant, isSameIssuer, lacksScope, loginCommand, needsLogin, oauthCode } from './fault.js';
import { endOf, findLoginFile, isToken, readLogin, type StoredLogin, type Tokens, writeLogin } from './file.js';

export interface OAuthOptions {
  /** With references expanded. */
  readonly server: HttpServer;
  /** The directory of stored logins, private to the user. */
  readonly directory: string;
  readonly world: Pick<World, 'now' | 'monotonic' | 'debug'>;
  readonly allowPrivate?: boolean;
  readonly lookup?: Lookup;
  /** Expands the references of the entry again: secrets of logins without a person may be replaced meanwhile. */
  readonly reread?: () => HttpServer;
  /** Called with tokens before they are used, so that they are redacted where the server repeats them. */
  readonly remember?: (tokens: readonly string[]) => void;
  /** Ends requests to the login server. */
  readonly signal?: AbortSignal;
}

// OAuth errors after which the user has to log in again.
const FINAL_ERRORS = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_token']);
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024;
// The SDK takes long to report many wrong values.
const MAX_VALUES = 1000;
// A token is renewed this long before it expires, or a tenth of its lifetime if that is less.
const EARLY_MS = 30_000;

/** Whether the entry has an `authorization` header. */
export function hasOwnAuthorization(server: HttpServer): boolean {
  return Object.keys(server.headers).some((name) => name.toLowerCase() === 'authorization');
}

/** Creates the fetch for metadata, registration and tokens: any origin, no configured headers. */
export function createLoginFetch(options: Pick<OAuthOptions, 'server' | 'allowPrivate' | 'lookup' | 'signal'>): Fetch {
  const { allowPrivate = false, lookup, signal } = options;
  const ask = createGuardedFetch({
    url: options.server.url,
    anyOrigin: true,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    allowPrivate,
    lookup,
  });
  return async (url, init) => {
    const response = await ask(url, { signal, ...init });
    const text = await response.text();
    assertFew(text, new URL(url));
    const { status, headers } = response;
    return new Response(text === '' ? null : text, { status, headers });
  };
}

// A text that is not JSON is left to the SDK.
function assertFew(text: string, url: URL): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  let left = MAX_VALUES;
  const count = (one: unknown): boolean =>
    left-- > 0 && (typeof one !== 'object' || one === null || Object.values(one).every(count));
  if (count(value)) return;
  throw unreachable(
    `${showUrl(url)} sent more than ${MAX_VALUES} values`,
    'report this to the operator of the login server',
    { url: showUrl(url) },
  );
}

/** Whether a login was made by the client and at the login server of the entry. */
function isOfEntry(login: StoredLogin | undefined, { oauth }: HttpServer): boolean {
  const { clientId, issuer } = oauth ?? {};
  if (clientId !== undefined && login?.client.id !== clientId) return false;
  return issuer === undefined || isSameIssuer(login?.issuer, issuer);
}

/** Returns the secret for the login server of a login: that of the entry is for its own client and issuer only. */
export function secretFor(login: StoredLogin, server: HttpServer): string | undefined {
  const own = isOfEntry(login, server) ? server.oauth?.clientSecret : undefined;
  return own ?? login.client.secret ?? undefined;
}

/** Throws for tokens that cannot be sent. */
export function assertTokens(tokens: Tokens, server: HttpServer): void {
  if (isToken(tokens.access_token)) return;
  throw new ToolError('unavailable', `cannot log in to ${server.name}: its login server sent an invalid access token`, {
    hint: 'report this to the operator of the server',
    data: { server: server.name },
  });
}

/**
 * Creates the SDK's token source. Its errors are ToolErrors with the login command as hint. Responses passed to
 * `onUnauthorized` must come from the guarded fetch, which remembers the token of each request.
 */
export function createOAuthProvider(options: OAuthOptions): AuthProvider {
  const { server, directory, world } = options;
  const renewals = new Map<string | undefined, Promise<Tokens>>();
  const remember = ({ access_token: token, refresh_token: renewal }: Tokens): void =>
    options.remember?.([token, ...(renewal === undefined ? [] : [renewal])]);
  const load = (): StoredLogin | undefined => {
    const login = readLogin(directory, server);
    // Tokens of another client or login server are not valid for this one.
    if (login === undefined || !isOfEntry(login, server)) return undefined;
    if (login.tokens !== null) remember(login.tokens);
    return login;
  };

  // Calls with the same token share one renewal; other processes wait for the lock.
  const renew = (stale: string | undefined, refused?: Response): Promise<Tokens> => {
    const running = renewals.get(stale);
    if (running !== undefined) return running;
    const context = { world, signal: new AbortController().signal, doing: 'renewing a login' };
    const renewal = withLock(`${findLoginFile(directory, server)}.lock`, context, async () => {
      const tokens = await renewNow({ stale, refused, load }, options);
      remember(tokens);
      return tokens;
    });
    renewals.set(stale, renewal);
    const forget = (): unknown => renewals.delete(stale);
    renewal.then(forget, forget);
    return renewal;
  };

  return {
    token: async () => {
      if (hasOwnAuthorization(server)) return undefined;
      const login = load();
      if (login === undefined || login.tokens === null) return undefined;
      const { access_token: token, refresh_token: renewable } = login.tokens;
      const ended = login.expiresAt !== null && world.now() >= login.expiresAt - earlier(login.tokens);
      return ended && (renewable !== undefined || hasGrant(server)) ? (await renew(token)).access_token : token;
    },
    onUnauthorized: async ({ response }) => {
      if (hasOwnAuthorization(server)) throw headerRejected(server);
      const token = load()?.tokens?.access_token;
      if (token === undefined && !hasGrant(server)) throw needsLogin(server, 'login required');
      // Otherwise another call or process has renewed it meanwhile.
      if (token === undefined || sentAuthorization(response) === `Bearer ${token}`) await renew(token, response);
    },
  };
}

// What a response required, where the SDK does not see it.
const challenges = new WeakMap<Response, Response>();

/** Returns the response with the challenge of a response of `withOwnChallenges`. */
export function challengeOf(response: Response): Response {
  return challenges.get(response) ?? response;
}

/**
 * Wraps the fetch of a server: a response that requires more scopes becomes an error with the login command, and the
 * scopes of one that requires a login are not shown to the SDK, which collects them for as long as it is connected.
 */
export function withOwnChallenges(
  fetch: Fetch,
  { server, directory }: Pick<OAuthOptions, 'server' | 'directory'>,
): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status === 401) {
      challenges.set(response, new Response(null, { status: 401, headers: response.headers }));
      response.headers.delete('www-authenticate');
    }
    if (response.status !== 403) return response;
    const { extractWWWAuthenticateParams } = await import('../sdk.js');
    const { error, scope } = extractWWWAuthenticateParams(response);
    if (error !== 'insufficient_scope') return response;
    await response.body?.cancel();
    throw lacksScope(server, scope, readLogin(directory, server)?.tokens?.scope);
  };
}

interface Renewal {
  readonly stale: string | undefined;
  /** The response that requires a login. */
  readonly refused: Response | undefined;
  readonly load: () => StoredLogin | undefined;
}

async function renewNow({ stale, refused, load }: Renewal, options: OAuthOptions): Promise<Tokens> {
  const { server, directory, world } = options;
  const login = load();
  if (hasGrant(server)) {
    const known = login?.tokens;
    return known != null && known.access_token !== stale ? known : (await logInByGrant(options, refused)).tokens!;
  }
  if (login === undefined || login.tokens === null) throw needsLogin(server, 'login required');
  if (login.tokens.access_token !== stale) return login.tokens;
  if (login.tokens.refresh_token === undefined) throw needsLogin(server, 'the login has expired');
  world.debug(`renewing the login of ${server.name}`);
  try {
    const given = await requestTokens(login, login.tokens.refresh_token, options);
    assertTokens(given, server);
    const tokens = { ...given, scope: given.scope ?? login.tokens.scope };
    writeLogin(directory, server, { ...login, tokens, expiresAt: endOf(tokens, world.now()) });
    return tokens;
  } catch (thrown) {
    if (isToolError(thrown)) throw thrown;
    const now = load();
    if (now?.tokens != null && now.tokens.access_token !== stale) return now.tokens;
    const code = oauthCode(thrown);
    if (code !== undefined && FINAL_ERRORS.has(code)) {
      writeLogin(directory, server, { ...login, tokens: null, expiresAt: null });
      throw needsLogin(server, 'the login has expired');
    }
    throw new ToolError('unavailable', `${server.name}: could not renew the login`, {
      hint: `try again; if it persists: ${loginCommand(server)}`,
      data: { server: server.name, code },
    });
  }
}

/** Gets and stores tokens without a person; the lock of the login is held. */
export async function logInByGrant(options: OAuthOptions, refused: Response | undefined): Promise<StoredLogin> {
  const { directory, world, reread } = options;
  const { requestByGrant } = await import('./grant.js');
  world.debug(`logging in to ${options.server.name} by its grant`);
  const server = reread?.() ?? options.server;
  const login = await requestByGrant({
    server,
    refused: refused && challengeOf(refused),
    fetch: createLoginFetch(options),
    now: world.now(),
  });
  assertTokens(login.tokens!, server);
  writeLogin(directory, server, login);
  return login;
}

async function requestTokens(login: StoredLogin, refreshToken: string, options: OAuthOptions): Promise<Tokens> {
  const { server } = options;
  const { refreshAuthorization } = await import('../sdk.js');
  return refreshAuthorization(login.issuer, {
    metadata: {
      issuer: login.issuer,
      token_endpoint: login.tokenEndpoint,
      authorization_endpoint: login.tokenEndpoint,
      response_types_supported: ['code'],
      token_endpoint_auth_methods_supported: login.authMethods === null ? undefined : [...login.authMethods],
    },
    clientInformation: {
      client_id: login.client.id,
      client_secret: secretFor(login, server),
    },
    refreshToken,
    resource: login.resource ?? undefined,
    fetchFn: createLoginFetch(options),
  });
}

function headerRejected({ name }: HttpServer): ToolError {
  return new ToolError('unavailable', `${name}: the configured Authorization header was rejected`, {
    hint: 'check the Authorization header of its entry and the variable it refers to',
    data: { server: name },
  });
}

function earlier({ expires_in: seconds = 0 }: Tokens): number {
  return Math.min(EARLY_MS, seconds * 100);
}
