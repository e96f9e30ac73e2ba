// Errors of logins. Messages do not repeat text of the login server.

import { isToolError, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { HttpServer } from '../../core/upstream.js';

export function loginCommand(server: HttpServer, scope?: string): string {
  const name = /^[\w.-]+$/.test(server.name)
    ? server.name
    : `'${quoteOutside(server.name, 60).replaceAll("'", "'\\''")}'`;
  return `wield mcp login ${name}${scope === undefined ? '' : ` --scope '${scope}'`}`;
}

/** Creates an `unavailable` error with the login command as hint. */
export function needsLogin(server: HttpServer, why: string): ToolError {
  return new ToolError('unavailable', `${quoteOutside(server.name, 60)}: ${why}`, {
    hint: hasGrant(server) ? checkEntry(server) : loginCommand(server),
    data: { server: server.name, ...(server.oauth?.per === 'user' ? { needs: 'login' } : {}) },
  });
}

/** Whether a user has to log in before a call can succeed. */
export function isLoginNeeded(error: unknown): boolean {
  return isToolError(error) && error.data?.needs === 'login';
}

/** Whether wield logs in to a server by itself, without a person. */
export function hasGrant({ oauth }: HttpServer): boolean {
  return oauth?.grant !== undefined;
}

/** Compares issuers; a final slash makes no difference. */
export function isSameIssuer(one: string | undefined, other: string): boolean {
  return one?.replace(/\/$/, '') === other.replace(/\/$/, '');
}

/** Returns what to do about a login without a person. */
export function checkEntry({ position }: HttpServer): string {
  return `check oauth in its entry in ${position.file} and the values it refers to`;
}

/** Creates the error for a login whose scopes do not allow a request; the hint asks for all of them (UPS-80). */
export function lacksScope(server: HttpServer, required: string | undefined, granted: string | undefined): ToolError {
  const all = [granted, readScope(required)].flatMap((words) => words?.split(' ') ?? []);
  const scope = readScope(required) === undefined ? undefined : readScope([...new Set(all)].join(' '));
  return new ToolError('unavailable', `${quoteOutside(server.name, 60)}: the login lacks a required scope`, {
    hint:
      hasGrant(server) && scope !== undefined
        ? `set oauth.scope to "${scope}" in its entry in ${server.position.file}, then: ${loginCommand(server)}`
        : loginCommand(server, scope),
    data: { server: server.name, scope: scope ?? null },
  });
}

/** Returns a scope that is safe in a command line, or undefined. */
export function readScope(scope: unknown): string | undefined {
  return typeof scope === 'string' && /^[\w:/.,@+*-]+(?: [\w:/.,@+*-]+)*$/.test(scope) && scope.length <= 500
    ? scope
    : undefined;
}

/** Returns the code of an OAuth error if it is safe to show. */
export function oauthCode(thrown: unknown): string | undefined {
  const { name, code } = Object(thrown) as { name?: string; code?: unknown };
  return name === 'OAuthError' && typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
}

const BY_NAME: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  RegistrationRejectedError: [
    'its login server rejected the registration of wield as a client',
    'register a client there by hand and set oauth.clientId in the entry of the server',
  ],
  IssuerMismatchError: [
    'its metadata and its login server name different issuers; login stopped',
    'report this to the operator of the server',
  ],
  AuthorizationServerMismatchError: [
    'it names another login server than before; login stopped',
    'if that is correct, run wield mcp logout for it first',
  ],
  InsecureTokenEndpointError: [
    'its token endpoint does not use TLS; login stopped',
    'report this to the operator of the server',
  ],
};

export function toLoginFailure(thrown: unknown, server: HttpServer): ToolError {
  if (isToolError(thrown)) return thrown;
  const code = oauthCode(thrown);
  const [what, hint] = BY_NAME[(Object(thrown) as Error).name] ?? [
    code === undefined ? 'unexpected response of its login server' : `its login server answered: ${code}`,
    hasGrant(server) ? checkEntry(server) : 'try again; if it persists, report it to the operator of the server',
  ];
  return new ToolError('unavailable', `cannot log in to ${quoteOutside(server.name, 60)}: ${what}`, {
    hint,
    data: { server: server.name, code },
  });
}
