// The login of a server in use: gives its token to the protocol's client, and renews it without a person.

import type { AuthProvider } from '@modelcontextprotocol/client';
import { isToolError, ToolError } from '../../core/error.js';
import type { HttpServer } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import { withLock } from '../../files/lock.js';
import type { Lookup } from '../http/exchange.js';
import { createGuardedFetch, type Fetch, sentAuthorization } from '../http/fetch.js';
import { loginCommand, needsLogin, oauthCode } from './fault.js';
import { findLoginFile, readLogin, type StoredLogin, type Tokens, writeLogin } from './file.js';

export interface OAuthOptions {
  /** With every reference replaced. */
  readonly server: HttpServer;
  /** Where logins are kept, private to the user. */
  readonly directory: string;
  readonly world: Pick<World, 'now' | 'monotonic' | 'debug'>;
  readonly allowPrivate?: boolean;
  readonly lookup?: Lookup;
}

// A login server that answers so will not answer otherwise: a person has to log in.
const FINAL = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_token']);
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;
// A token is renewed this long before it ends, or a tenth of its life before where that is less.
const EARLY_MS = 30_000;

/** Whether the configuration says itself what is sent as `authorization`. */
export function hasOwnAuthorization(server: HttpServer): boolean {
  return Object.keys(server.headers).some((name) => name.toLowerCase() === 'authorization');
}

/** The fetch for metadata, registration and tokens: any origin, no configured header, bounded time and size. */
export function createLoginFetch(options: Pick<OAuthOptions, 'server' | 'allowPrivate' | 'lookup'>): Fetch {
  const { allowPrivate = false, lookup } = options;
  return createGuardedFetch({
    url: options.server.url,
    anyOrigin: true,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    allowPrivate,
    ...(lookup === undefined ? {} : { lookup }),
  });
}

/**
 * What the protocol's client asks for a token. Its errors are ToolErrors whose hint is the login. The answers that
 * it is shown must come from our own fetch, which knows the token that each was the answer to.
 */
export function createOAuthProvider(options: OAuthOptions): AuthProvider {
  const { server, directory, world } = options;
  const renewals = new Map<string, Promise<Tokens>>();
  const look = (): StoredLogin | undefined => {
    const login = readLogin(directory, server);
    // Tokens of another client are no use to this one.
    return server.oauth !== undefined && login?.client.id !== server.oauth.clientId ? undefined : login;
  };

  // All who come with the same token wait for the same renewal; other processes wait for the lock.
  const renew = (stale: string): Promise<Tokens> => {
    const running = renewals.get(stale);
    if (running !== undefined) return running;
    const context = { world, signal: new AbortController().signal, doing: 'renewing a login' };
    const renewal = withLock(`${findLoginFile(directory, server)}.lock`, context, () => renewNow(stale));
    renewals.set(stale, renewal);
    const forget = (): unknown => renewals.delete(stale);
    renewal.then(forget, forget);
    return renewal;
  };

  const renewNow = async (stale: string): Promise<Tokens> => {
    const login = look();
    if (login === undefined || login.tokens === null) throw needsLogin(server, 'it asks for a login');
    if (login.tokens.access_token !== stale) return login.tokens;
    if (login.tokens.refresh_token === undefined) throw needsLogin(server, 'its login has ended');
    world.debug(`renewing the login of ${server.name}`);
    try {
      const given = await askForTokens(login, login.tokens.refresh_token);
      const tokens = { ...given, scope: given.scope ?? login.tokens.scope };
      writeLogin(directory, server, { ...login, tokens, expiresAt: endOf(tokens, world.now()) });
      return tokens;
    } catch (thrown) {
      if (isToolError(thrown)) throw thrown;
      const now = look();
      if (now?.tokens != null && now.tokens.access_token !== stale) return now.tokens;
      const code = oauthCode(thrown);
      if (code !== undefined && FINAL.has(code)) {
        writeLogin(directory, server, { ...login, tokens: null, expiresAt: null });
        throw needsLogin(server, 'its login has ended');
      }
      throw new ToolError('unavailable', `${server.name}: its login could not be renewed`, {
        hint: `call again; if it stays so, ${loginCommand(server)}`,
        data: { server: server.name, ...(code === undefined ? {} : { code }) },
      });
    }
  };

  const askForTokens = async (login: StoredLogin, refreshToken: string): Promise<Tokens> => {
    const { refreshAuthorization } = await import('@modelcontextprotocol/client');
    const secret = server.oauth?.clientSecret ?? login.client.secret;
    return refreshAuthorization(login.issuer, {
      metadata: {
        issuer: login.issuer,
        token_endpoint: login.tokenEndpoint,
        authorization_endpoint: login.tokenEndpoint,
        response_types_supported: ['code'],
        ...(login.authMethods === null
          ? {}
          : { token_endpoint_auth_methods_supported: [...login.authMethods] }),
      },
      clientInformation: {
        client_id: login.client.id,
        ...(secret === null ? {} : { client_secret: secret }),
      },
      refreshToken,
      ...(login.resource === null ? {} : { resource: login.resource }),
      fetchFn: createLoginFetch(options),
    });
  };

  return {
    token: async () => {
      if (hasOwnAuthorization(server)) return undefined;
      const login = look();
      if (login === undefined || login.tokens === null) return undefined;
      const { access_token: token, refresh_token: renewable } = login.tokens;
      const ended = login.expiresAt !== null && world.now() >= login.expiresAt - earlier(login.tokens);
      return ended && renewable !== undefined ? (await renew(token)).access_token : token;
    },
    onUnauthorized: async ({ response }) => {
      if (hasOwnAuthorization(server)) {
        throw new ToolError(
          'unavailable',
          `${server.name}: it refuses the authorization of its configuration`,
          {
            hint: 'check the Authorization header of the server and the variable it refers to',
            data: { server: server.name },
          },
        );
      }
      const tokens = look()?.tokens ?? undefined;
      if (tokens === undefined) throw needsLogin(server, 'it asks for a login');
      // Another call, or another process, has renewed it meanwhile.
      if (sentAuthorization(response) === `Bearer ${tokens.access_token}`) await renew(tokens.access_token);
    },
  };
}

/** When tokens end that are given now; null where they do not say. */
export function endOf({ expires_in: seconds }: Tokens, now: number): number | null {
  return seconds === undefined ? null : now + seconds * 1000;
}

function earlier({ expires_in: seconds = 0 }: Tokens): number {
  return Math.min(EARLY_MS, seconds * 100);
}
