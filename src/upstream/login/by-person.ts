// Login by a person: the page of the login server in the browser, and its answer on a port of this machine.

import { unlessAborted } from '../../core/async.js';
import type { World } from '../../core/snapshot.js';
import type { HttpServer } from '../../core/upstream.js';
import { type Callback, listenForAnswer } from './callback.js';
import { toLoginFailure } from './fault.js';
import { type StoredLogin, withLoginLock, writeLogin } from './file.js';
import { createSecret } from './links.js';
import type { OAuthOptions } from './oauth.js';
import { isRegistered, readBefore, startLogin } from './steps.js';

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
  const state = createSecret();
  const before = readBefore(server, directory);
  const callback = await listenAgain(state, server, before, options.port);
  const { redirectUrl } = callback;
  try {
    const { page, finish } = await startLogin(server, { ...options, redirectUrl, state, before });
    const answer = await waitForAnswer(page, callback, options);
    if (answer.get('code') !== null) callback.close();
    return await finish(answer);
  } catch (thrown) {
    // The login server may no longer know the client: the next login registers another one.
    if (before?.client.redirect === redirectUrl)
      await withLoginLock(server, { ...options, signal: undefined }, async () =>
        writeLogin(directory, server, { ...before, client: { ...before.client, redirect: undefined } }),
      );
    throw toLoginFailure(thrown, server);
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

async function waitForAnswer(url: URL, callback: Callback, { signal, show, paste }: LoginOptions) {
  const over = new AbortController();
  try {
    await show(url);
    paste?.(callback.accept, over.signal);
    return await unlessAborted(callback.answered, signal, () => signal.reason as Error);
  } finally {
    over.abort();
  }
}
