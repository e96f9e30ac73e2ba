// Calls of servers at which every user has a login of their own: without one, the user is asked to log in first (IDN-21).

import { isToolError, ToolError } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import type { Snapshot, World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import { settlesWithin } from '../../core/time-limit.js';
import type { HttpServer, ServerEntry } from '../../core/upstream.js';
import { assertAllowed } from '../entries/allowed.js';
import { expandServer, expandWithSecrets } from '../entries/expand.js';
import { isLoginNeeded } from '../login/fault.js';
import { readLogin } from '../login/file.js';
import { LINK_MS } from '../login/links.js';
import type { LoginPages } from '../login/pages.js';
import { findLoginUser, isPerUser, type LoginUser, toLoginDirectory } from '../login/user.js';
import { createRegistryOrigins } from '../registry/origin.js';

export interface OwnLoginOptions {
  readonly world: World;
  readonly wieldHome: string;
  /** Where users can log in; absent: nowhere. */
  readonly loginPages?: Pick<LoginPages, 'open'> | undefined;
}

/** Runs a call; if the user has no login at the server, or it is rejected, after they have logged in. */
export async function withOwnLogin<T>(
  server: ServerEntry,
  scope: CallScope,
  options: OwnLoginOptions,
  work: () => Promise<T>,
): Promise<T> {
  const user = findLoginUser(server, scope.caller);
  if (user === undefined || !isPerUser(server)) return work();
  try {
    if (hasLogin(server, user, scope.snapshot, options)) return await work();
  } catch (error) {
    if (!isLoginNeeded(error)) throw error;
  }
  await askForLogin(server, user, scope, options);
  return work();
}

/** Whether a user has tokens for a server, valid or not. */
export function hasLogin(
  server: HttpServer,
  user: LoginUser,
  snapshot: Snapshot,
  { world, wieldHome }: OwnLoginOptions,
): boolean {
  // Secrets of commands and the keychain do not choose the login.
  const options = { ...world, workdir: snapshot.workdir, trusted: true, secretOf: () => '' };
  const { server: known } = expandServer(server, options);
  const login = readLogin(toLoginDirectory(wieldHome, user), known as HttpServer);
  return login !== undefined && login.tokens !== null;
}

/** Returns the page on which a user can log in to a server; undefined if there is none. */
export function openLoginPage(
  server: HttpServer,
  user: LoginUser,
  snapshot: Snapshot,
  { loginPages, ...options }: OwnLoginOptions,
): ReturnType<LoginPages['open']> {
  const { world, wieldHome } = options;
  const directory = toLoginDirectory(wieldHome, user);
  return loginPages?.open({ server, user, directory, world, expand: () => expand(server, snapshot, options) });
}

// Returns when the user has logged in. A client that cannot show a page gets its address with the error.
async function askForLogin(
  server: HttpServer,
  user: LoginUser,
  { elicit, controller, snapshot }: CallScope,
  options: OwnLoginOptions,
): Promise<void> {
  const page = openLoginPage(server, user, snapshot, options);
  const name = quoteOutside(server.name, 60);
  const message = `${name}: ${quoteOutside(user.user, 120)} has to log in there first`;
  if (page === undefined) {
    throw new ToolError('unavailable', message, {
      hint: 'ask the operator to start the server with --public-url, so that it has a login page',
      data: { server: server.name },
    });
  }
  const { url, done } = page;
  try {
    const answer = await elicit?.({ message: `Log in to ${name} to go on.`, url }, controller.signal);
    if (answer?.action === 'accept' && (await settlesWithin(done, LINK_MS))) return;
  } catch (error) {
    // The client cannot show pages.
    if (!isToolError(error) || error.code !== 'unavailable') throw error;
  }
  throw new ToolError('unavailable', `${message}, at ${url}`, {
    hint: 'open that address in a browser within 10 minutes, log in, then call it again',
    data: { server: server.name, url },
  });
}

async function expand(
  server: HttpServer,
  { workdir, settings }: Snapshot,
  { world, wieldHome }: Pick<OwnLoginOptions, 'world' | 'wieldHome'>,
): Promise<HttpServer> {
  const { server: resolved } = await expandWithSecrets(server, { world, workdir });
  assertAllowed(server, resolved, settings, { world, registryOf: createRegistryOrigins(wieldHome, world.now).of });
  return resolved as HttpServer;
}
