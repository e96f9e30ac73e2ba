// The two steps of a login by a person: up to the login page of the server, and from its answer to tokens.

import { orNothing, ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { classifyHost } from '../../net/address.js';
import type { OAuthClientInformationMixed, OAuthClientProvider } from '../sdk.js';
import { isSameIssuer, loginCommand, readScope, toLoginFailure } from './fault.js';
import { type LoginDraft, readLogin, type StoredLogin, toStored, withLoginLock, writeLogin } from './file.js';
import { createLoginFetch, type OAuthOptions } from './oauth.js';

/** The results of a login so far; stored when it is complete. */
interface Draft extends LoginDraft {
  verifier?: string;
  authorizationUrl?: URL;
}

/** A login between its two steps. */
export interface StartedLogin {
  /** The login page of the server. */
  readonly page: URL;
  /** Exchanges the answer of the page for tokens, and stores them; its state was checked. */
  finish(answer: URLSearchParams): Promise<StoredLogin>;
}

export interface StepOptions extends Pick<OAuthOptions, 'createFetch' | 'signal' | 'user'> {
  readonly world: Pick<World, 'now' | 'monotonic'>;
  readonly directory: string;
  readonly redirectUrl: string;
  readonly state: string;
  /** The login that is replaced. */
  readonly before?: StoredLogin | undefined;
  readonly scope?: string | undefined;
}

const MAX_PAGE_URL = 16 * 1024;
const PROBE_TIMEOUT_MS = 30_000;

/** Begins a login. Throws a ToolError, as `finish` does. */
export async function startLogin(server: HttpServer, options: StepOptions): Promise<StartedLogin> {
  const { directory, redirectUrl, before, user } = options;
  const draft: Draft = isRegistered(server) ? {} : { redirect: redirectUrl };
  if (before?.client.redirect === redirectUrl) draft.client = toRegistered(before);
  const provider = createProvider(draft, server, options);
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      throw explain(thrown, server, draft);
    }
  };
  return {
    page: await explained(() => findPage(server, draft, provider, options)),
    finish: (answer) =>
      explained(async () => {
        const login = await exchange(server, draft, provider, answer, options);
        const stored = user === undefined ? login : { ...login, user };
        await withLoginLock(server, options, async () => writeLogin(directory, server, stored));
        return stored;
      }),
  };
}

// Bound to its issuer, so that another login server does not receive its secret.
function toRegistered({ client: { id, secret }, issuer }: StoredLogin): OAuthClientInformationMixed {
  return { client_id: id, ...(secret === null ? {} : { client_secret: secret }), issuer };
}

// Finds the login server, and registers a client there if there is none.
async function findPage(
  server: HttpServer,
  draft: Draft,
  provider: OAuthClientProvider,
  options: StepOptions,
): Promise<URL> {
  const { auth, extractWWWAuthenticateParams } = await import('../sdk.js');
  const { resourceMetadataUrl, scope: asked } = extractWWWAuthenticateParams(await probe(server, options));
  await auth(provider, {
    serverUrl: server.url,
    fetchFn: createLoginFetch({ ...options, server }),
    resourceMetadataUrl,
    scope: options.scope ?? server.oauth?.scope ?? joinScopes(readScope(asked), options.before?.scope),
    forceReauthorization: true,
  });
  return assertShowable(draft.authorizationUrl, server.name);
}

async function exchange(
  server: HttpServer,
  draft: Draft,
  provider: OAuthClientProvider,
  answer: URLSearchParams,
  options: StepOptions,
): Promise<StoredLogin> {
  const { exchangeAuthorization, IssuerMismatchError } = await import('../sdk.js');
  const code = answer.get('code');
  if (code === null) throw refused(server, answer.get('error') ?? '');
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
    redirectUri: options.redirectUrl,
    resource: draft.resource,
    fetchFn: createLoginFetch({ ...options, server }),
  });
  // RFC 6749, 5.1: without a scope in the response, the requested one was granted.
  const scope = tokens.scope ?? draft.authorizationUrl?.searchParams.get('scope') ?? undefined;
  return toStored(draft, { ...tokens, scope }, server, options.world.now());
}

// What was granted before is asked for again.
function joinScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  return [...new Set(scopes.flatMap((scope) => scope?.split(' ') ?? []))].join(' ') || undefined;
}

/** Creates the OAuth provider of one login, which writes to the draft. */
export function createProvider(
  draft: Draft,
  server: HttpServer,
  { directory, redirectUrl, state }: Pick<StepOptions, 'directory' | 'redirectUrl' | 'state'>,
): OAuthClientProvider {
  const known = findClient(server, directory);
  const save =
    <Key extends keyof Draft>(key: Key) =>
    (value: NonNullable<Draft[Key]>): void => {
      draft[key] = value;
    };
  return {
    redirectUrl,
    clientMetadata: toClientMetadata(redirectUrl, 'refresh_token'),
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

/** Describes wield to a login server, which registers it as a client. */
export function toClientMetadata(redirectUrl: string, ...grants: readonly string[]) {
  return {
    client_name: 'wield',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', ...grants],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

// The client of the entry, bound to the configured issuer, or that of the first login, so that another login server does not
// receive its secret.
function findClient(
  server: HttpServer,
  directory: string,
): (OAuthClientInformationMixed & { issuer?: string | undefined }) | undefined {
  const { oauth } = server;
  if (oauth?.clientId === undefined) return undefined;
  const before = readBefore(server, directory);
  return {
    client_id: oauth.clientId,
    client_secret: oauth.clientSecret,
    issuer: oauth.issuer ?? (before?.client.id === oauth.clientId ? before.issuer : undefined),
  };
}

/** Sends a ping without authorization: a server that requires a login answers with where to get it. */
export async function probe(
  server: HttpServer,
  { createFetch, signal }: Pick<OAuthOptions, 'createFetch' | 'signal'>,
): Promise<Response> {
  const { url, headers } = server;
  const ask = createFetch({ url, headers, timeoutMs: PROBE_TIMEOUT_MS });
  const response = await ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    signal,
  });
  await response.body?.cancel();
  return response;
}

// A login that cannot be read will be replaced.
export function readBefore(server: HttpServer, directory: string): StoredLogin | undefined {
  return orNothing(() => readLogin(directory, server));
}

/** Whether the entry names a client that was registered by hand. */
export function isRegistered({ oauth }: HttpServer): boolean {
  return oauth?.clientId !== undefined;
}

function refused(server: HttpServer, code: string): ToolError {
  const shown = /^[a-z_]{1,40}$/.test(code) ? `: ${code}` : '';
  return new ToolError('denied', `the login to ${server.name} was refused${shown}`, {
    hint: `to try again: ${loginCommand(server)}`,
  });
}

// The page is opened in the user's browser, so it must be an HTTPS URL; it is printed too, so it must not be long.
export function assertShowable(url: URL | undefined, name: string): URL {
  const local = url?.protocol === 'http:' && classifyHost(url.hostname).class === 'loopback';
  const isPage =
    url !== undefined && (url.protocol === 'https:' || local) && url.username === '' && url.password === '';
  if (isPage && url.href.length <= MAX_PAGE_URL) return url;
  const fault = isPage ? `has a URL of more than ${MAX_PAGE_URL} characters` : 'is not an https:// URL';
  throw new ToolError('unavailable', `cannot log in to ${name}: its login page ${fault}`, {
    hint: 'report this to the operator of the server',
  });
}

function explain(thrown: unknown, server: HttpServer, { discovery, client }: Draft): ToolError {
  const missing = !isRegistered(server) && client === undefined && discovery !== undefined;
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
