// Login by a person: the page of the login server in the browser, and its answer on a port of this machine.

import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { loadCrypto } from '../../files/digest.js';
import type { OAuthClientInformationMixed } from '../sdk.js';
import { type Callback, listenForAnswer } from './callback.js';
import { type StoredLogin, withLoginLock, writeLogin } from './file.js';
import type { OAuthOptions } from './oauth.js';
import {
  beginLogin,
  createProvider,
  type Draft,
  explain,
  finishLogin,
  isRegistered,
  readBefore,
  type StartedLogin,
} from './steps.js';

export interface LoginOptions extends Pick<OAuthOptions, 'directory' | 'createFetch'> {
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

/** Logs in with the login page in the browser, and stores the login. */
export async function logInByPerson(server: HttpServer, options: LoginOptions): Promise<StoredLogin> {
  const { directory } = options;
  const state = loadCrypto().randomBytes(32).toString('base64url');
  const before = readBefore(server, directory);
  const callback = await listenAgain(state, server, before, options.port);
  const { redirectUrl } = callback;
  const isSameClient = before !== undefined && before.client.redirect === redirectUrl;
  const draft: Draft = isRegistered(server) ? {} : { redirect: redirectUrl };
  if (isSameClient) draft.client = toRegistered(before);
  try {
    const provider = createProvider(draft, server, { directory, redirectUrl, state });
    const login = await obtain(server, { draft, provider, redirectUrl }, before, callback, options);
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

// Many login servers accept only the redirect URL that a client was registered with, and so its port.
async function listenAgain(
  state: string,
  server: HttpServer,
  before: StoredLogin | undefined,
  port: number | undefined,
): Promise<Callback> {
  const last = !isRegistered(server) && port === undefined ? before?.client.redirect : undefined;
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

async function obtain(
  server: HttpServer,
  login: StartedLogin,
  before: StoredLogin | undefined,
  callback: Callback,
  options: LoginOptions,
): Promise<StoredLogin> {
  const page = await beginLogin(server, login, { ...options, before });
  const answer = await waitForAnswer(page, callback, options);
  if (answer.get('code') !== null) callback.close();
  return finishLogin(server, login, answer, options);
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
