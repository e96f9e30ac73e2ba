// Whose login a connection uses: that of this machine, or that of a user of the server (IDN-21).

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { callerKey } from '../../core/name.js';
import type { UserOf } from '../../core/selector-terms.js';
import type { HttpServer, ServerEntry } from '../../core/upstream.js';
import { digestParts } from '../../files/digest.js';

/** A user with a login of their own. */
export interface LoginUser {
  readonly user: string;
  readonly issuer: string | undefined;
}

/** Returns the user whose login a server is used with; undefined: that of this machine. */
export function findLoginUser(server: ServerEntry, { user, issuer }: UserOf): LoginUser | undefined {
  if (user === undefined || !(isPerUser(server) || usesCallersToken(server))) return undefined;
  return { user, issuer };
}

/** Whether every user logs in to a server, on a page. */
export function isPerUser(server: ServerEntry): server is HttpServer {
  return server.kind === 'http' && server.oauth?.per === 'user';
}

/** Whether the tokens of users are exchanged for those of a server (IDN-27). */
export function usesCallersToken(server: ServerEntry): boolean {
  const grant = server.kind === 'http' ? server.oauth?.grant : undefined;
  return grant === 'token_exchange' || grant === 'id_jag';
}

/** Identifies a user as approvals and limits do. */
export function toUserKey({ user, issuer }: LoginUser): string {
  return callerKey({ kind: 'model', door: 'mcp', user, ...(issuer === undefined ? {} : { issuer }) });
}

/** The directory of stored logins, private to the user of this machine. */
export function toLoginDirectory(wieldHome: string, user?: LoginUser): string {
  if (user === undefined) return join(wieldHome, 'oauth');
  return join(usersOf(wieldHome), digestParts([toUserKey(user)]));
}

/** The directories of all users. */
export function listUserDirectories(wieldHome: string): readonly string[] {
  const users = usersOf(wieldHome);
  return existsSync(users) ? readdirSync(users).map((name) => join(users, name)) : [];
}

function usersOf(wieldHome: string): string {
  return join(toLoginDirectory(wieldHome), 'users');
}
