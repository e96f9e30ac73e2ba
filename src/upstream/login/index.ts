// Logging in to a server, by a person in their browser, and out again.

import { ToolError } from '../../core/error.js';
import { formatDuration } from '../../core/text.js';
import type { HttpServer } from '../../core/upstream.js';
import type { World } from '../../core/world.js';
import { loadCrypto } from '../../files/crypto.js';
import { withLock } from '../../files/lock.js';
import { judgeHost } from '../http/address.js';
import { createGuardedFetch } from '../http/fetch.js';
import { type Callback, listenForAnswer } from './callback.js';
import { createProvider, type Draft, toStored } from './draft.js';
import { loginCommand, readScope, toLoginFailure } from './fault.js';
import { findLoginFile, readLogin, removeLogin, type StoredLogin, writeLogin } from './file.js';
import { createLoginFetch, hasOwnAuthorization, type OAuthOptions } from './oauth.js';

export interface LoginOptions extends Omit<OAuthOptions, 'server' | 'world'> {
  readonly world: World;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The port to come back to, where a client was registered with one by hand. */
  readonly port?: number;
  /** What to ask for, in place of what the configuration or the server says. */
  readonly scope?: string;
  /** Brings the address before the person; the login waits meanwhile. */
  readonly show: (url: URL) => void | Promise<void>;
  /** Lets the person bring the answer by hand, until the signal says that it is no longer needed. */
  readonly paste?: (accept: (address: string) => boolean, signal: AbortSignal) => void;
}

/** A login for people and programs: no token in it. */
export interface LoginFacts {
  readonly server: string;
  readonly url: string;
  readonly issuer: string;
  readonly scope: string | null;
  /** Whether it is renewed without a person. */
  readonly renewable: boolean;
  readonly expiresAt: string | null;
}

/** Logs in. The login that there was stays until the new one is complete. */
export async function login(server: HttpServer, options: LoginOptions): Promise<LoginFacts> {
  assertCanLogIn(server);
  const { directory, world } = options;
  const state = loadCrypto().randomBytes(32).toString('base64url');
  const callback = await listenForAnswer(state, options.port);
  const draft: Draft = {};
  try {
    const stored = await obtain({ server, options, callback, state, draft });
    const context = { world, signal: options.signal, doing: 'renewing a login' };
    await withLock(`${findLoginFile(directory, server)}.lock`, context, async () =>
      writeLogin(directory, server, stored),
    );
    return toFacts(stored);
  } catch (thrown) {
    throw explain(thrown, server, draft);
  } finally {
    callback.close();
  }
}

/** The login that there is, or nothing. */
export function findLogin(server: HttpServer, directory: string): LoginFacts | undefined {
  const stored = readLogin(directory, server);
  return stored === undefined || stored.tokens === null ? undefined : toFacts(stored);
}

/** Forgets the login, and tells the login server so where it wants to know; false where there was none. */
export async function logout(
  server: HttpServer,
  options: Pick<LoginOptions, 'directory' | 'world' | 'signal' | 'allowPrivate' | 'lookup'>,
): Promise<boolean> {
  const { directory, world, signal } = options;
  const context = { world, signal, doing: 'renewing a login' };
  return withLock(`${findLoginFile(directory, server)}.lock`, context, async () => {
    let stored: StoredLogin | undefined;
    try {
      stored = readLogin(directory, server);
    } catch {
      // One that cannot be read is removed all the same.
    }
    const existed = stored !== undefined;
    removeLogin(directory, server);
    if (stored !== undefined) await revoke(stored, server, options);
    return existed;
  });
}

interface Attempt {
  readonly server: HttpServer;
  readonly options: LoginOptions;
  readonly callback: Callback;
  readonly state: string;
  readonly draft: Draft;
}

async function obtain(attempt: Attempt): Promise<StoredLogin> {
  const { server, options, callback, draft } = attempt;
  const { auth, exchangeAuthorization, extractWWWAuthenticateParams } = await import(
    '@modelcontextprotocol/client'
  );
  const challenge = extractWWWAuthenticateParams(await probe(server, options));
  const scope = options.scope ?? server.oauth?.scope ?? readScope(challenge.scope);
  const provider = createProvider(draft, {
    server,
    directory: options.directory,
    redirectUrl: callback.redirectUrl,
    state: attempt.state,
  });
  const common = {
    serverUrl: server.url,
    fetchFn: createLoginFetch({ ...options, server }),
    ...(challenge.resourceMetadataUrl === undefined
      ? {}
      : { resourceMetadataUrl: challenge.resourceMetadataUrl }),
    ...(scope === undefined ? {} : { scope }),
  };
  await auth(provider, { ...common, forceReauthorization: true });
  const answer = await waitForAnswer(attempt, assertShowable(draft.authorizationUrl, server));
  const code = answer.get('code');
  const refused = answer.get('error') ?? '';
  if (code === null) {
    throw new ToolError(
      'denied',
      `the login to ${server.name} was refused${/^[a-z_]{1,40}$/.test(refused) ? `: ${refused}` : ''}`,
      {
        hint: `${loginCommand(server)} asks again`,
      },
    );
  }
  callback.close();
  // Directly, since `auth` would try a refused code a second time, and print what the login server says.
  const metadata = draft.discovery?.authorizationServerMetadata;
  const client = await provider.clientInformation();
  const iss = answer.get('iss');
  draft.tokens = await exchangeAuthorization(draft.discovery?.authorizationServerUrl ?? server.url, {
    ...(metadata === undefined ? {} : { metadata }),
    clientInformation: client ?? { client_id: '' },
    authorizationCode: code,
    ...(iss === null ? {} : { iss }),
    codeVerifier: draft.verifier ?? '',
    redirectUri: callback.redirectUrl,
    ...(draft.resource === undefined ? {} : { resource: draft.resource }),
    fetchFn: common.fetchFn,
  });
  return toStored(draft, server, options.world.now());
}

// Says nothing and begins nothing; whoever wants a login says so, and where to get it.
function probe(server: HttpServer, options: LoginOptions): Promise<Response> {
  const { allowPrivate = false, lookup, signal } = options;
  const ask = createGuardedFetch({
    url: server.url,
    headers: server.headers,
    timeoutMs: 30_000,
    allowPrivate,
    ...(lookup === undefined ? {} : { lookup }),
  });
  return ask(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    signal,
  }).then(async (response) => {
    await response.body?.cancel();
    return response;
  });
}

async function waitForAnswer({ server, options, callback }: Attempt, url: URL): Promise<URLSearchParams> {
  const { timeoutMs, signal } = options;
  const over = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      reject(
        new ToolError('timeout', `nobody logged in to ${server.name} within ${formatDuration(timeoutMs)}`, {
          hint: `${loginCommand(server)} --timeout 15m waits longer`,
        }),
      );
    }, timeoutMs);
    const cancel = (): void =>
      reject(
        new ToolError('cancelled', 'the login was stopped', { hint: `${loginCommand(server)} begins again` }),
      );
    over.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    });
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
  });
  try {
    await options.show(url);
    options.paste?.(callback.accept, over.signal);
    return await Promise.race([callback.answered, stopped]);
  } finally {
    over.abort();
    stopped.catch(() => {});
  }
}

// What a login server names as its page is opened by the person's browser, so it must be a page.
function assertShowable(url: URL | undefined, server: HttpServer): URL {
  const local = url?.protocol === 'http:' && judgeHost(url.hostname).class === 'loopback';
  if (url !== undefined && (url.protocol === 'https:' || local) && url.username === '' && url.password === '')
    return url;
  throw new ToolError(
    'unavailable',
    `cannot log in to ${server.name}: its page for that is no https:// address`,
    {
      hint: 'tell whoever runs the server',
    },
  );
}

function toFacts({ server, url, issuer, tokens, expiresAt }: StoredLogin): LoginFacts {
  return {
    server,
    url,
    issuer,
    scope: tokens?.scope ?? null,
    renewable: tokens?.refresh_token !== undefined,
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
}

// RFC 7009. That it could not be told is no reason to keep the tokens.
async function revoke(
  stored: StoredLogin,
  server: HttpServer,
  options: Pick<LoginOptions, 'world' | 'allowPrivate' | 'lookup'>,
): Promise<void> {
  const token = stored.tokens?.refresh_token ?? stored.tokens?.access_token;
  if (stored.revocationEndpoint === null || token === undefined) return;
  const secret = server.oauth?.clientSecret ?? stored.client.secret;
  try {
    const ask = createLoginFetch({ ...options, server });
    const body = new URLSearchParams({ token, client_id: stored.client.id });
    if (secret !== null) body.set('client_secret', secret);
    const response = await ask(stored.revocationEndpoint, { method: 'POST', body });
    await response.body?.cancel();
    options.world.debug(`revoking the login of ${server.name}: ${response.status}`);
  } catch (error) {
    options.world.debug(`the login of ${server.name} is not revoked: ${(error as Error).name}`);
  }
}

function assertCanLogIn(server: HttpServer): void {
  if (!hasOwnAuthorization(server)) return;
  throw new ToolError(
    'usage',
    `${server.name} is configured with an Authorization header, so there is no login to it`,
    {
      hint: 'take the header out of its configuration to log in instead',
    },
  );
}

function explain(thrown: unknown, server: HttpServer, { discovery, client }: Draft): ToolError {
  const missing = server.oauth === undefined && client === undefined && discovery !== undefined;
  const failure = toLoginFailure(thrown, server);
  if (failure === thrown || !missing) return failure;
  const metadata = discovery.authorizationServerMetadata;
  if (metadata === undefined) {
    return new ToolError('unavailable', `${server.name} offers no login`, {
      hint: 'if it wants a key, put a reference to it into the headers of its configuration',
    });
  }
  if (metadata.registration_endpoint !== undefined) return failure;
  return new ToolError('unavailable', `${server.name}: its login server registers no clients by itself`, {
    hint: 'register wield there by hand, and set oauth.clientId of the server in its configuration',
    data: { server: server.name, issuer: metadata.issuer },
  });
}
