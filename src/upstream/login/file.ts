// Stored logins: one private file per server with its tokens and what is needed to renew them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError, systemReason, ToolError } from '../../core/error.js';
import type { HttpServer } from '../../core/upstream.js';
import { loadCrypto } from '../../files/digest.js';
import { withLock } from '../../files/lock.js';
import { readStateFile } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { refuseNewer } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import type { OAuthClientInformationMixed, OAuthDiscoveryState } from '../sdk.js';
import { isSameIssuer, needsLogin } from './fault.js';
import type { LoginUser } from './user.js';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  /** Seconds after they were issued. */
  readonly expires_in?: number | undefined;
}

export interface StoredLogin {
  readonly version: 1;
  /** Name and URL of the server that the tokens are for. */
  readonly server: string;
  readonly url: string;
  /** The login server that issued the tokens. */
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly authMethods: readonly string[] | null;
  readonly revocationEndpoint: string | null;
  readonly resource: string | null;
  /** The secret only of a dynamically registered client; a configured one is not stored. */
  readonly client: {
    readonly id: string;
    readonly secret: string | null;
    /** The redirect URL that it was registered with, if the next login can use it again. */
    readonly redirect?: string | undefined;
  };
  /** Whose login it is, if not that of this machine. */
  readonly user?: LoginUser | undefined;
  /** The granted scopes, also after the tokens were rejected. */
  readonly scope?: string | undefined;
  /** Null after they were rejected. */
  readonly tokens: Tokens | null;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null;
}

/** What is stored besides the tokens. */
export interface LoginDraft {
  client?: OAuthClientInformationMixed;
  /** The redirect URL of a registered client. */
  redirect?: string;
  discovery?: OAuthDiscoveryState;
  resource?: string;
}

const MAX_BYTES = 256 * 1024;

/** Converts a complete login to the stored form. */
export function toStored(
  { discovery, client, redirect, resource }: LoginDraft,
  tokens: Tokens,
  server: HttpServer,
  now: number,
): StoredLogin {
  const metadata = discovery?.authorizationServerMetadata;
  const issuer = metadata?.issuer ?? discovery?.authorizationServerUrl;
  if (issuer === undefined) throw new Error('incomplete');
  // OpenID metadata has it too, but not in its type.
  const { revocation_endpoint: revocation } = { ...metadata } as { revocation_endpoint?: unknown };
  return {
    version: 1,
    server: server.name,
    url: resourceOf(server),
    issuer,
    tokenEndpoint: metadata?.token_endpoint ?? new URL('/token', issuer).href,
    authMethods: metadata?.token_endpoint_auth_methods_supported ?? null,
    revocationEndpoint: typeof revocation === 'string' ? revocation : null,
    resource: resource ?? null,
    client: { id: server.oauth?.clientId ?? client?.client_id ?? '', secret: client?.client_secret ?? null, redirect },
    scope: tokens.scope,
    ...toStoredTokens(tokens, server, now),
  };
}

/** Returns tokens as they are stored. Throws if they cannot be sent: the SDK repeats other text in its errors. */
export function toStoredTokens(
  given: Tokens,
  server: HttpServer,
  now: number,
): Pick<StoredLogin, 'expiresAt'> & { readonly tokens: Tokens } {
  if (!isToken(given.access_token)) {
    const message = `cannot log in to ${server.name}: its login server sent an invalid access token`;
    throw new ToolError('unavailable', message, {
      hint: 'report this to the operator of the server',
      data: { server: server.name },
    });
  }
  const { access_token, refresh_token, scope, expires_in } = given;
  const end = expires_in === undefined ? Number.NaN : now + expires_in * 1000;
  return {
    tokens: { access_token, refresh_token, scope, expires_in },
    expiresAt: Number.isNaN(new Date(end).getTime()) ? null : end,
  };
}

// Visible ASCII.
function isToken(token: unknown): boolean {
  return typeof token === 'string' && /^[!-~]+$/.test(token);
}

/** Returns the file of a login, by name and URL, so that a changed URL does not receive the tokens. */
export function findLoginFile(directory: string, server: HttpServer): string {
  const digest = loadCrypto()
    .createHash('sha256')
    .update(JSON.stringify([server.name, resourceOf(server)]))
    .digest('hex');
  return join(directory, `${server.name.replace(/[^\w-]/g, '_').slice(0, 40)}-${digest.slice(0, 16)}.json`);
}

// The URL that a token is for: without query and fragment.
function resourceOf(server: HttpServer): string {
  const { origin, pathname } = new URL(server.url);
  return `${origin}${pathname}`;
}

/** Runs work while no other process changes the login. */
export function withLoginLock<T>(
  server: HttpServer,
  options: {
    readonly directory: string;
    readonly signal?: AbortSignal | undefined;
  },
  work: () => Promise<T>,
): Promise<T> {
  const { directory, signal } = options;
  const context = { doing: 'renewing a login', ...(signal && { signal }) };
  return withLock(`${findLoginFile(directory, server)}.lock`, context, work);
}

/** Reads the login from disk; another process may have changed it. */
export function readLogin(directory: string, server: HttpServer): StoredLogin | undefined {
  let login: StoredLogin | undefined;
  try {
    const file = findLoginFile(directory, server);
    const text = readStateFile(file, MAX_BYTES);
    if (text === undefined) return undefined;
    login = JSON.parse(text) as StoredLogin;
    refuseNewer(login, file);
  } catch (error) {
    if (isToolError(error)) throw error;
    // Reported below without the cause, which may quote the file.
  }
  if (login === undefined || !isReadable(login, server)) throw needsLogin(server, 'the stored login is not readable');
  return login;
}

function isReadable({ version, url, tokenEndpoint, tokens }: StoredLogin, server: HttpServer): boolean {
  if (version !== 1 || url !== resourceOf(server) || typeof tokenEndpoint !== 'string') return false;
  return tokens === null || isToken(tokens?.access_token);
}

/** Whether a login was made by the client and at the login server of the entry. */
export function isOfEntry(login: StoredLogin, { oauth }: HttpServer): boolean {
  const { clientId, issuer } = oauth ?? {};
  if (clientId !== undefined && login.client.id !== clientId) return false;
  return issuer === undefined || isSameIssuer(login.issuer, issuer);
}

/** Returns the secret for the login server of a login: that of the entry is for its own client and issuer only. */
export function secretFor(login: StoredLogin, server: HttpServer): string | undefined {
  const own = isOfEntry(login, server) ? server.oauth?.clientSecret : undefined;
  return own ?? login.client.secret ?? undefined;
}

export function writeLogin(directory: string, server: HttpServer, login: StoredLogin): void {
  const text = `${JSON.stringify(login, null, 2)}\n`;
  if (text.length > MAX_BYTES) {
    throw new ToolError('unavailable', `the tokens of ${server.name} are too large to store`, {
      hint: 'report this to the operator of its login server',
    });
  }
  try {
    writeFileAtomic(findLoginFile(directory, server), text);
  } catch (error) {
    throw new ToolError('io', `cannot write to ${directory}: ${systemReason(error)}`, {
      hint: 'make it writable, or set WIELD_HOME to another directory',
      cause: error,
    });
  }
}

/** Returns whether there was one. */
export function removeLogin(directory: string, server: HttpServer): boolean {
  const file = findLoginFile(directory, server);
  const existed = existsSync(file);
  try {
    removeFile(file);
  } catch (error) {
    throw new ToolError('io', `cannot remove ${file}: ${systemReason(error)}`, {
      hint: 'remove it by hand',
      cause: error,
    });
  }
  return existed;
}
