// Sends requests of a server with the token of its login, which is renewed when it expires or is rejected.

import { isToolError, ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { showUrl, unreachable } from '../../net/fault.js';
import type { CreateFetch, Fetch } from '../../net/fetch.js';
import { hasGrant, lacksScope, loginCommand, needsLogin, oauthCode } from './fault.js';
import {
  isOfEntry,
  readLogin,
  type StoredLogin,
  secretFor,
  type Tokens,
  toStoredTokens,
  withLoginLock,
  writeLogin,
} from './file.js';
import { type LoginUser, usesCallersToken } from './user.js';

export interface OAuthOptions {
  /** With references expanded. */
  readonly server: HttpServer;
  /** The directory of stored logins, private to the user. */
  readonly directory: string;
  readonly world: Pick<World, 'now' | 'monotonic' | 'debug'>;
  readonly createFetch: CreateFetch;
  /** Expands the references of the entry again: secrets of logins without a person may be replaced meanwhile. */
  readonly reread?: () => Promise<HttpServer>;
  /** Called with tokens before they are used, so that they are redacted where the server repeats them. */
  readonly remember?: (tokens: readonly string[]) => void;
  /** Whose login it is, if not that of this machine. */
  readonly user?: LoginUser | undefined;
  /** Returns the verified token of a user, for grants that exchange it. */
  readonly subjectToken?: ((user: LoginUser) => string | undefined) | undefined;
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
export function createLoginFetch(options: Pick<OAuthOptions, 'server' | 'createFetch' | 'signal'>): Fetch {
  const { server, createFetch, signal } = options;
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  const ask = createFetch({ url: server.url, anyOrigin: true, ...limits });
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

/**
 * Wraps the fetch of a server. A response that requires a login is not returned: the request is sent again with a renewed
 * token, or fails with the login command as hint.
 */
export function withLogin(send: Fetch, options: OAuthOptions): Fetch {
  const { server, directory } = options;
  const source = createTokenSource(options);
  return async (url, init) => {
    const token = await source.current();
    const first = await send(url, withToken(init, token));
    if (first.status !== 401) return assertScope(first, server, directory);
    await first.body?.cancel();
    if (hasOwnAuthorization(server)) throw headerRejected(server);
    const second = await send(url, withToken(init, await source.renew(token, first)));
    if (second.status !== 401) return assertScope(second, server, directory);
    await second.body?.cancel();
    throw needsLogin(server, 'the stored login was rejected');
  };
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit | undefined {
  if (token === undefined) return init;
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers };
}

// A response that requires more scopes becomes an error with the login command.
async function assertScope(response: Response, server: HttpServer, directory: string): Promise<Response> {
  if (response.status !== 403) return response;
  const { extractWWWAuthenticateParams } = await import('../sdk.js');
  const { error, scope } = extractWWWAuthenticateParams(response);
  if (error !== 'insufficient_scope') return response;
  await response.body?.cancel();
  throw lacksScope(server, scope, readLogin(directory, server)?.tokens?.scope);
}

function createTokenSource(options: OAuthOptions) {
  const { server, directory, world } = options;
  const renewals = new Map<string | undefined, Promise<string>>();
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
  const renew = (stale: string | undefined, refused?: Response): Promise<string> => {
    let renewal = renewals.get(stale);
    if (renewal === undefined) {
      renewal = withLoginLock(server, { directory }, async () => {
        const tokens = await renewNow(load, stale, refused, options);
        remember(tokens);
        return tokens.access_token;
      }).finally(() => renewals.delete(stale));
      renewals.set(stale, renewal);
    }
    return renewal;
  };
  return {
    renew,
    /** Returns the token to send; undefined without a login. */
    async current(): Promise<string | undefined> {
      if (hasOwnAuthorization(server)) return undefined;
      const { tokens = null, expiresAt = null } = load() ?? {};
      if (tokens === null) return undefined;
      const early = Math.min(EARLY_MS, (tokens.expires_in ?? 0) * 100);
      const isOver = expiresAt !== null && world.now() >= expiresAt - early;
      const isRenewable = tokens.refresh_token !== undefined || hasGrant(server);
      return isOver && isRenewable ? renew(tokens.access_token) : tokens.access_token;
    },
  };
}

// Returns tokens other than the rejected one; the lock of the login is held.
async function renewNow(
  load: () => StoredLogin | undefined,
  stale: string | undefined,
  refused: Response | undefined,
  options: OAuthOptions,
): Promise<Tokens> {
  const { server, directory, world } = options;
  const login = load();
  // Another call or process has renewed it meanwhile.
  if (login?.tokens != null && login.tokens.access_token !== stale) return login.tokens;
  if (hasGrant(server)) return (await logInByGrant(options, refused)).tokens!;
  if (login === undefined || login.tokens === null) throw needsLogin(server, 'login required');
  if (login.tokens.refresh_token === undefined) throw needsLogin(server, 'the login has expired');
  world.debug(`renewing the login of ${server.name}`);
  try {
    const given = await requestTokens(login, login.tokens.refresh_token, options);
    const renewed = toStoredTokens({ ...given, scope: given.scope ?? login.tokens.scope }, server, world.now());
    writeLogin(directory, server, { ...login, ...renewed });
    return renewed.tokens;
  } catch (thrown) {
    if (isToolError(thrown)) throw thrown;
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
  world.debug(`logging in to ${options.server.name} by its grant`);
  const server = (await reread?.()) ?? options.server;
  const login = await requestLogin(server, refused, options);
  writeLogin(directory, server, login);
  return login;
}

async function requestLogin(server: HttpServer, refused: Response | undefined, options: OAuthOptions) {
  const request = { ...options, server, refused, fetch: createLoginFetch(options) };
  const { requestByExchange, requestByGrant } = await import('./grant.js');
  return usesCallersToken(server) ? requestByExchange(request) : requestByGrant(request);
}

async function requestTokens(login: StoredLogin, refreshToken: string, options: OAuthOptions): Promise<Tokens> {
  const { refreshAuthorization } = await import('../sdk.js');
  return refreshAuthorization(login.issuer, {
    metadata: {
      issuer: login.issuer,
      token_endpoint: login.tokenEndpoint,
      authorization_endpoint: login.tokenEndpoint,
      response_types_supported: ['code'],
      token_endpoint_auth_methods_supported: login.authMethods === null ? undefined : [...login.authMethods],
    },
    clientInformation: { client_id: login.client.id, client_secret: secretFor(login, options.server) },
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
