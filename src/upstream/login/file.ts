// Stored logins: one private file per server with its tokens and what is needed to renew them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import type { HttpServer } from '../../core/upstream.js';
import { loadCrypto } from '../../files/digest.js';
import { readStateFile } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { writeFileAtomic } from '../../files/write.js';
import { needsLogin } from './fault.js';

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
  readonly client: { readonly id: string; readonly secret: string | null };
  /** Null after they were rejected. */
  readonly tokens: Tokens | null;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null;
}

const MAX_BYTES = 256 * 1024;

/** Returns when tokens issued now expire; null if unknown or not a date. */
export function endOf({ expires_in: seconds }: Tokens, now: number): number | null {
  const end = seconds === undefined ? Number.NaN : now + seconds * 1000;
  return Number.isNaN(new Date(end).getTime()) ? null : end;
}

/** Whether a token can be sent: visible ASCII. The SDK repeats others in its errors. */
export function isToken(token: unknown): boolean {
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

/** Returns the URL that a token is for: without query and fragment. */
export function resourceOf(server: HttpServer): string {
  const { origin, pathname } = new URL(server.url);
  return `${origin}${pathname}`;
}

/** Reads the login from disk; another process may have changed it. */
export function readLogin(directory: string, server: HttpServer): StoredLogin | undefined {
  let text: string | undefined;
  let login: StoredLogin | undefined;
  try {
    text = readStateFile(findLoginFile(directory, server), MAX_BYTES);
    if (text === undefined) return undefined;
    login = JSON.parse(text) as StoredLogin;
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

/** Replaces the stored login. */
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
    throw new ToolError('io', `cannot write to ${directory}: ${(error as Error).message}`, {
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
    throw new ToolError('io', `cannot remove ${file}: ${(error as Error).message}`, {
      hint: 'remove it by hand',
      cause: error,
    });
  }
  return existed;
}
