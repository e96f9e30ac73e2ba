// What is kept of a login: one private file for each server, with its tokens and what it takes to renew them.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { HttpServer } from '../../core/upstream.js';
import { loadCrypto } from '../../files/crypto.js';
import { readTextFile } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import { needsLogin } from './fault.js';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  /** Seconds, counted from when they were given. */
  readonly expires_in?: number | undefined;
}

export interface StoredLogin {
  readonly version: 1;
  /** As the configuration names it, and the address that the tokens are for. */
  readonly server: string;
  readonly url: string;
  /** Who gave the tokens, and where they are renewed and revoked. */
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly authMethods: readonly string[] | null;
  readonly revocationEndpoint: string | null;
  readonly resource: string | null;
  /** The secret only of a client that registered itself; one of the configuration stays there. */
  readonly client: { readonly id: string; readonly secret: string | null };
  /** Null after they were refused for good. */
  readonly tokens: Tokens | null;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null;
}

const MAX_BYTES = 256 * 1024;

/** Where the login of a server lies: by its name and its address, so that neither alone gets another's tokens. */
export function findLoginFile(directory: string, server: HttpServer): string {
  const digest = loadCrypto()
    .createHash('sha256')
    .update(JSON.stringify([server.name, resourceOf(server)]))
    .digest('hex');
  return join(directory, `${server.name.replace(/[^\w-]/g, '_').slice(0, 40)}-${digest.slice(0, 16)}.json`);
}

/** The address that a token is for: without query and fragment. */
export function resourceOf(server: HttpServer): string {
  const { origin, pathname } = new URL(server.url);
  return `${origin}${pathname}`;
}

/** The login as it is now; another process may have changed it since the last look. */
export function readLogin(directory: string, server: HttpServer): StoredLogin | undefined {
  let text: string | undefined;
  let login: StoredLogin | undefined;
  try {
    text = readTextFile(findLoginFile(directory, server), MAX_BYTES);
    if (text === undefined) return undefined;
    login = JSON.parse(text) as StoredLogin;
  } catch {
    // Without the cause: the text of it can show a piece of the file.
  }
  if (login?.version !== 1 || login.url !== resourceOf(server) || typeof login.tokenEndpoint !== 'string')
    throw needsLogin(server, 'its stored login cannot be read');
  return login;
}

/** Replaces the stored login as a whole. */
export function writeLogin(directory: string, server: HttpServer, login: StoredLogin): void {
  const text = `${JSON.stringify(login, null, 2)}\n`;
  if (text.length > MAX_BYTES) {
    throw new ToolError('unavailable', `the tokens of ${server.name} are too large to be kept`, {
      hint: 'tell whoever runs its login server',
    });
  }
  try {
    writeFileAtomic(findLoginFile(directory, server), text);
  } catch (error) {
    throw new ToolError('io', `cannot write to ${directory}: ${(error as Error).message}`, {
      hint: 'give back the right to write there, or set WIELD_HOME to a directory of yours',
      cause: error,
    });
  }
}

export function removeLogin(directory: string, server: HttpServer): void {
  rmSync(findLoginFile(directory, server), { force: true });
}
