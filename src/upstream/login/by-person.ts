// Login by a person: the page of the login server in the browser, and its answer on a port of this machine.

import { orNothing, ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { loadCrypto } from '../../files/digest.js';
import { classifyHost } from '../../net/address.js';
import { createGuardedFetch } from '../../net/fetch.js';
import type { OAuthClientInformationMixed, OAuthClientProvider } from '../sdk.js';
import { type Callback, listenForAnswer } from './callback.js';
import { isSameIssuer, loginCommand, readScope, toLoginFailure } from './fault.js';
import { type LoginDraft, readLogin, type StoredLogin, toStored, withLoginLock, writeLogin } from './file.js';
import { createLoginFetch, type OAuthOptions } from './oauth.js';

export interface LoginOptions extends Pick<OAuthOptions, 'directory' | 'lookup'> {
  readonly world: World;
  /** Limits the whole login. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The redirect port, for a client that was registered with one. */
  readonly port?: number;
  /** Overrides the scope of the configuration and of the server. */
  readonly scope?: string;
  /** Shows the login page to the user. */
  readonly show: (url: URL) => void | Promise<void>;
  /** Lets the user paste the redirect URL until the signal is aborted. */
  readonly paste?: (accept: (address: string) => boolean, signal: AbortSignal) => void;
}

/** The results of a login so far; stored when it is complete. */
interface Draft extends LoginDraft {
  verifier?: string;
  authorizationUrl?: URL;
}

const MAX_PAGE_URL = 16 * 1024;
const PROBE_TIMEOUT_MS = 30_000;

/** Logs in with the login page in the browser, and stores the login. */
export async function logInByPerson(server: HttpServer, options: LoginOptions): Promise<StoredLogin> {
  const { directory } = options;
  const state = loadCrypto().randomBytes(32).toString('base64url');
  const before = readBefore(server, directory);
  const callback = await listenAgain(state, server, before, options.port);
  const { redirectUrl } = callback;
  const isSameClient = before !== undefined && before.client.redirect === redirectUrl;
  const draft: Draft = server.oauth === undefined ? { redirect: redirectUrl } : {};
  if (isSameClient) draft.client = toRegistered(before);
  try {
    const provider = createProvider(draft, server, { directory, redirectUrl, state });
    const login = await obtain(server, provider, { draft, before }, callback, options);
    await withLoginLock(server, options, async () => writeLogin(directory, server, login));
    return login;
  } catch (thrown) {
    // The login server may no longer know the client: the next login registers another one.
    if (isSameClient)
      await withLoginLock(server, { ...options, signal: undefined }, async () =>
        writeLogin(directory, server, { ...before, client: { ...before.client, redirect: undefined } }),
      );
    throw explain(thrown, server, draft);
  } finally {
    callback.close();
  }
}

// A login that cannot be read will be replaced.
function readBefore(server: HttpServer, directory: string): StoredLogin | undefined {
  return orNothing(() => readLogin(directory, server));
}

// Many login servers accept only the redirect URL that a client was registered with, and so its port.
async function listenAgain(
  state: string,
  server: HttpServer,
  before: StoredLogin | undefined,
  port: number | undefined,
): Promise<Callback> {
  const last = server.oauth === undefined && port === undefined ? before?.client.redirect : undefined;
  if (last === undefined) return listenForAnswer(state, port);
  try {
    return await listenForAnswer(state, Number(new URL(last).port));
  } catch {
    return listenForAnswer(state);
  }
}

// Bound to its issuer, so that another login server does not receive its secret.
function toRegistered({ client: { id, secret }, issuer }: StoredLogin): OAuthClientInformationMixed {
  return { client_id: id, ...(secret === null ? {} : { client_secret: secret }), issuer };
}

// What was granted before is asked for again.
function joinScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  return [...new Set(scopes.flatMap((scope) => scope?.split(' ') ?? []))].join(' ') || undefined;
}

async function obtain(
  server: HttpServer,
  provider: OAuthClientProvider,
  { draft, before }: { readonly draft: Draft; readonly before: StoredLogin | undefined },
  callback: Callback,
  options: LoginOptions,
): Promise<StoredLogin> {
  const { auth, exchangeAuthorization, extractWWWAuthenticateParams, IssuerMismatchError } = await import('../sdk.js');
  const { resourceMetadataUrl, scope: asked } = extractWWWAuthenticateParams(await probe(server, options));
  const fetchFn = createLoginFetch({ ...options, server });
  await auth(provider, {
    serverUrl: server.url,
    fetchFn,
    resourceMetadataUrl,
    scope: options.scope ?? server.oauth?.scope ?? joinScopes(readScope(asked), before?.scope),
    forceReauthorization: true,
  });
  const answer = await waitForAnswer(assertShowable(draft.authorizationUrl, server), callback, options);
  const code = answer.get('code');
  if (code === null) throw refused(server, answer.get('error') ?? '');
  callback.close();
  const { authorizationServerMetadata: metadata, authorizationServerUrl: address = server.url } = draft.discovery ?? {};
  const iss = answer.get('iss');
  // With metadata the SDK compares the issuers.
  if (metadata === undefined && iss !== null && !isSameIssuer(iss, address))
    throw new IssuerMismatchError('authorization_response', address, iss);
  // Not with `auth`, which would retry a rejected code and print messages of the login server.
  const tokens = await exchangeAuthorization(address, {
    metadata,
    clientInformation: (await provider.clientInformation()) ?? { client_id: '' },
    authorizationCode: code,
    iss: iss ?? undefined,
    codeVerifier: draft.verifier ?? '',
    redirectUri: callback.redirectUrl,
    resource: draft.resource,
    fetchFn,
  });
  // RFC 6749, 5.1: without a scope in the response, the requested one was granted.
  const scope = tokens.scope ?? draft.authorizationUrl?.searchParams.get('scope') ?? undefined;
  return toStored(draft, { ...tokens, scope }, server, options.world.now());
}

/** Creates the OAuth provider of one login, which writes to the draft. */
export function createProvider(
  draft: Draft,
  server: HttpServer,
  {
    directory,
    redirectUrl,
    state,
  }: { readonly directory: string; readonly redirectUrl: string; readonly state: string },
): OAuthClientProvider {
  const known = findClient(server, directory);
  const save =
    <Key extends keyof Draft>(key: Key) =>
    (value: NonNullable<Draft[Key]>): void => {
      draft[key] = value;
    };
  return {
    redirectUrl,
    clientMetadata: {
      client_name: 'wield',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => state,
    clientInformation: () => known ?? draft.client,
    saveClientInformation: known === undefined ? save('client') : undefined,
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: save('authorizationUrl'),
    saveCodeVerifier: save('verifier'),
    codeVerifier: () => draft.verifier ?? '',
    saveDiscoveryState: save('discovery'),
    discoveryState: () => draft.discovery,
    saveResourceUrl: save('resource'),
  };
}

// The client of the entry, bound to the configured issuer, or that of the first login, so that another login server does not
// receive its secret.
function findClient(
  server: HttpServer,
  directory: string,
): (OAuthClientInformationMixed & { issuer?: string | undefined }) | undefined {
  const { oauth } = server;
  if (oauth === undefined) return undefined;
  const before = readBefore(server, directory);
  return {
    client_id: oauth.clientId,
    client_secret: oauth.clientSecret,
    issuer: oauth.issuer ?? (before?.client.id === oauth.clientId ? before.issuer : undefined),
  };
}

/** Sends a ping without authorization: a server that requires a login answers with where to get it. */
export async function probe(server: HttpServer, { lookup, signal }: LoginOptions): Promise<Response> {
  const { url, headers } = server;
  const ask = createGuardedFetch({ url, headers, timeoutMs: PROBE_TIMEOUT_MS, lookup });
  const response = await ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    signal,
  });
  await response.body?.cancel();
  return response;
}

async function waitForAnswer(url: URL, callback: Callback, { signal, show, paste }: LoginOptions) {
  const over = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true, signal: over.signal });
    if (signal.aborted) stop();
  });
  // It may be stopped while the page is shown.
  stopped.catch(() => {});
  try {
    await show(url);
    paste?.(callback.accept, over.signal);
    return await Promise.race([callback.answered, stopped]);
  } finally {
    over.abort();
  }
}

function refused(server: HttpServer, code: string): ToolError {
  const shown = /^[a-z_]{1,40}$/.test(code) ? `: ${code}` : '';
  return new ToolError('denied', `the login to ${server.name} was refused${shown}`, {
    hint: `to try again: ${loginCommand(server)}`,
  });
}

// The page is opened in the user's browser, so it must be an HTTPS URL; it is printed too, so it must not be long.
function assertShowable(url: URL | undefined, server: HttpServer): URL {
  const local = url?.protocol === 'http:' && classifyHost(url.hostname).class === 'loopback';
  const isPage =
    url !== undefined && (url.protocol === 'https:' || local) && url.username === '' && url.password === '';
  if (isPage && url.href.length <= MAX_PAGE_URL) return url;
  const fault = isPage ? `has a URL of more than ${MAX_PAGE_URL} characters` : 'is not an https:// URL';
  throw new ToolError('unavailable', `cannot log in to ${server.name}: its login page ${fault}`, {
    hint: 'report this to the operator of the server',
  });
}

function explain(thrown: unknown, server: HttpServer, { discovery, client }: Draft): ToolError {
  const missing = server.oauth === undefined && client === undefined && discovery !== undefined;
  const failure = toLoginFailure(thrown, server);
  if (failure === thrown || !missing) return failure;
  const metadata = discovery.authorizationServerMetadata;
  if (metadata === undefined) {
    return new ToolError('unavailable', `${server.name} does not support login`, {
      hint: 'if it needs a key, add a reference to it to the headers of its entry',
    });
  }
  if (metadata.registration_endpoint !== undefined) return failure;
  return new ToolError('unavailable', `${server.name}: its login server does not support client registration`, {
    hint: 'register a client there by hand and set oauth.clientId in the entry of the server',
    data: { server: server.name, issuer: metadata.issuer },
  });
}
