// Login to a server, by a person or by a grant of its entry, and logout.

import { unlessAborted } from '../../core/async.js';
import { orNothing, ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { formatDuration } from '../../core/text.js';
import type { HttpServer } from '../../core/upstream.js';
import { type Callback, listenForAnswer } from './callback.js';
import { hasGrant, loginCommand, toLoginFailure } from './fault.js';
import { readLogin, removeLogin, type StoredLogin, secretFor, withLoginLock, writeLogin } from './file.js';
import { createSecret } from './links.js';
import { createLoginFetch, hasOwnAuthorization, logInByGrant, type OAuthOptions } from './oauth.js';
import { isRegistered, probe, readBefore, startLogin } from './steps.js';
import { listUserDirectories } from './user.js';

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

/** A stored login without its tokens. */
export interface LoginFacts {
  readonly server: string;
  readonly url: string;
  readonly issuer: string;
  readonly scope: string | null;
  /** Whether it is renewed automatically. */
  readonly renewable: boolean;
  readonly expiresAt: string | null;
}

/** Logs in. A stored login is replaced only when the new one is complete. */
export async function login(server: HttpServer, options: LoginOptions): Promise<LoginFacts> {
  assertCanLogIn(server);
  const { signal, timeoutMs } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  const limited = { ...options, signal: AbortSignal.any([signal, timeout]) };
  try {
    return hasGrant(server) ? await loginByGrant(server, limited) : toFacts(await logInByPerson(server, limited));
  } catch (thrown) {
    if (signal.aborted) throw new ToolError('cancelled', 'the login was cancelled', { hint: loginCommand(server) });
    if (!timeout.aborted) throw thrown;
    throw new ToolError('timeout', `login to ${server.name} timed out after ${formatDuration(timeoutMs)}`, {
      hint: `to wait longer: ${loginCommand(server)} --timeout 15m`,
    });
  }
}

// A scope of this login would be lost with the next one, which wield makes by itself.
async function loginByGrant(server: HttpServer, options: LoginOptions): Promise<LoginFacts> {
  if (options.scope !== undefined) {
    throw new ToolError('usage', `the scope of ${server.name} is that of its entry, because it has a grant`, {
      hint: `set oauth.scope in ${server.position.file}, then: ${loginCommand(server)}`,
    });
  }
  const refused = await probe(server, options);
  const login = await withLoginLock(server, options, () => logInByGrant({ ...options, server }, refused));
  return toFacts(login, true);
}

/** Removes the stored login and revokes its token if possible; returns false if there was none. */
export async function logout(
  server: HttpServer,
  options: Pick<LoginOptions, 'directory' | 'world' | 'signal' | 'createFetch'>,
): Promise<boolean> {
  const { directory } = options;
  return withLoginLock(server, options, async () => {
    // An unreadable login is removed too.
    const stored = orNothing(() => readLogin(directory, server));
    const existed = removeLogin(directory, server);
    if (stored !== undefined) await revoke(stored, server, options);
    return existed;
  });
}

/** Returns where the logins of a user at a server are; equal names of several issuers are several users. */
export function findUserDirectories(server: HttpServer, user: string, wieldHome: string): readonly string[] {
  return listUserDirectories(wieldHome).filter(
    (directory) => orNothing(() => readLogin(directory, server)?.user?.user) === user,
  );
}

function toFacts({ server, url, issuer, tokens, expiresAt }: StoredLogin, hasGrant = false): LoginFacts {
  return {
    server,
    url,
    issuer,
    scope: tokens?.scope ?? null,
    renewable: hasGrant || tokens?.refresh_token !== undefined,
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
}

// RFC 7009. A failure is only logged.
async function revoke(
  stored: StoredLogin,
  server: HttpServer,
  options: Pick<LoginOptions, 'world' | 'createFetch' | 'signal'>,
): Promise<void> {
  const token = stored.tokens?.refresh_token ?? stored.tokens?.access_token;
  if (stored.revocationEndpoint === null || token === undefined) return;
  const secret = secretFor(stored, server);
  try {
    const ask = createLoginFetch({ ...options, server });
    const body = new URLSearchParams({ token, client_id: stored.client.id });
    if (secret !== undefined) body.set('client_secret', secret);
    const response = await ask(stored.revocationEndpoint, { method: 'POST', body });
    await response.body?.cancel();
    options.world.debug(`revoking the login of ${server.name}: ${response.status}`);
  } catch (error) {
    options.world.debug(`could not revoke the login of ${server.name}: ${(error as Error).name}`);
  }
}

function assertCanLogIn(server: HttpServer): void {
  if (!hasOwnAuthorization(server)) return;
  throw new ToolError('usage', `${server.name} has an Authorization header in its entry, so it needs no login`, {
    hint: 'remove the header from its entry to log in instead',
  });
}

// Logs in with the login page in the browser, and stores the login.
async function logInByPerson(server: HttpServer, options: LoginOptions): Promise<StoredLogin> {
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
