// Login by a person: the page of the login server in the browser, and its answer on a port of this machine.

import { ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { loadCrypto } from '../../files/digest.js';
import { withLock } from '../../files/lock.js';
import { classifyHost } from '../../net/address.js';
import { createGuardedFetch } from '../../net/fetch.js';
import { type Callback, listenForAnswer } from './callback.js';
import { createProvider, type Draft, toStored } from './draft.js';
import { isSameIssuer, loginCommand, readScope, toLoginFailure } from './fault.js';
import { findLoginFile, type StoredLogin, writeLogin } from './file.js';
import { assertTokens, createLoginFetch, type OAuthOptions } from './oauth.js';

export interface LoginOptions extends Omit<OAuthOptions, 'server' | 'world'> {
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

const MAX_PAGE_URL = 16 * 1024;

/** Logs in with the login page in the browser, and stores the login. */
export async function logInByPerson(server: HttpServer, options: LoginOptions): Promise<StoredLogin> {
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
    return stored;
  } catch (thrown) {
    throw explain(thrown, server, draft);
  } finally {
    callback.close();
  }
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
  const { auth, exchangeAuthorization, extractWWWAuthenticateParams, IssuerMismatchError } = await import('../sdk.js');
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
    resourceMetadataUrl: challenge.resourceMetadataUrl,
    scope,
  };
  await auth(provider, { ...common, forceReauthorization: true });
  const answer = await waitForAnswer(attempt, assertShowable(draft.authorizationUrl, server));
  const code = answer.get('code');
  const refused = answer.get('error') ?? '';
  if (code === null) {
    throw new ToolError(
      'denied',
      `the login to ${server.name} was refused${/^[a-z_]{1,40}$/.test(refused) ? `: ${refused}` : ''}`,
      { hint: `to try again: ${loginCommand(server)}` },
    );
  }
  callback.close();
  // Not with `auth`, which would retry a rejected code and print messages of the login server.
  const metadata = draft.discovery?.authorizationServerMetadata;
  const client = await provider.clientInformation();
  const iss = answer.get('iss');
  const address = draft.discovery?.authorizationServerUrl ?? server.url;
  // With metadata the SDK compares the issuers.
  if (metadata === undefined && iss !== null && !isSameIssuer(iss, address))
    throw new IssuerMismatchError('authorization_response', address, iss);
  draft.tokens = await exchangeAuthorization(address, {
    metadata,
    clientInformation: client ?? { client_id: '' },
    authorizationCode: code,
    iss: iss ?? undefined,
    codeVerifier: draft.verifier ?? '',
    redirectUri: callback.redirectUrl,
    resource: draft.resource,
    fetchFn: common.fetchFn,
  });
  assertTokens(draft.tokens, server);
  return toStored(draft, server, options.world.now());
}

/** Sends a ping without authorization: a server that requires a login answers with where to get it. */
export function probe(server: HttpServer, options: LoginOptions): Promise<Response> {
  const { allowPrivate = false, lookup, signal } = options;
  const ask = createGuardedFetch({
    url: server.url,
    headers: server.headers,
    timeoutMs: 30_000,
    allowPrivate,
    lookup,
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

async function waitForAnswer({ options, callback }: Attempt, url: URL): Promise<URLSearchParams> {
  const { signal } = options;
  const over = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true, signal: over.signal });
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
