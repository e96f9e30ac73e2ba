// What is wrong with a login, in words and with the next step; nothing that a login server wrote is repeated.

import { isToolError, ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { HttpServer } from '../../core/upstream.js';

/** The command that logs in to a server. */
export function loginCommand(server: HttpServer, scope?: string): string {
  const name = /^[\w.-]+$/.test(server.name)
    ? server.name
    : `'${quoteOutside(server.name, 60).replaceAll("'", "'\\''")}'`;
  return `wield mcp login ${name}${scope === undefined ? '' : ` --scope '${scope}'`}`;
}

/** `unavailable`: a person has to log in first. */
export function needsLogin(server: HttpServer, why: string): ToolError {
  return new ToolError('unavailable', `${quoteOutside(server.name, 60)}: ${why}`, {
    hint: loginCommand(server),
    data: { server: server.name },
  });
}

/** What the protocol's client threw over a login as one of ours; undefined where it is about something else. */
export function toLoginError(thrown: unknown, server: HttpServer): ToolError | undefined {
  if (isToolError(thrown)) return thrown;
  const { name, code, requiredScope } = Object(thrown) as {
    name?: string;
    code?: string;
    requiredScope?: unknown;
  };
  if (name === 'UnauthorizedError') return needsLogin(server, 'it asks for a login');
  if (code === 'CLIENT_HTTP_AUTHENTICATION') return needsLogin(server, 'it refuses the login that there is');
  if (name !== 'InsufficientScopeError') return undefined;
  const scope = readScope(requiredScope);
  return new ToolError('unavailable', `${quoteOutside(server.name, 60)}: the login does not allow this`, {
    hint: loginCommand(server, scope),
    data: { server: server.name, scope: scope ?? null },
  });
}

/** A scope as it may stand in a command line; undefined where it is none. */
export function readScope(scope: unknown): string | undefined {
  return typeof scope === 'string' && /^[\w:/.,@+*-]+(?: [\w:/.,@+*-]+)*$/.test(scope) && scope.length <= 500
    ? scope
    : undefined;
}

/** The code of an OAuth error where it is one, safe to be shown. */
export function oauthCode(thrown: unknown): string | undefined {
  const { name, code } = Object(thrown) as { name?: string; code?: unknown };
  return name === 'OAuthError' && typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
}

const BY_NAME: Readonly<Record<string, readonly [what: string, hint: string]>> = {
  RegistrationRejectedError: [
    'its login server does not take wield as a client',
    'register a client there by hand, and set oauth.clientId of the server in its configuration',
  ],
  IssuerMismatchError: [
    'its login server is not the one that it says it is; the login was stopped',
    'tell whoever runs the server: its metadata and its answer name different issuers',
  ],
  AuthorizationServerMismatchError: [
    'it names another login server than before; the login was stopped',
    'if that is right, run wield mcp logout for it first',
  ],
  InsecureTokenEndpointError: [
    'its login server gives tokens without TLS; the login was stopped',
    'tell whoever runs the server',
  ],
};

/** What made a login fail. */
export function toLoginFailure(thrown: unknown, server: HttpServer): ToolError {
  if (isToolError(thrown)) return thrown;
  const code = oauthCode(thrown);
  const [what, hint] = BY_NAME[(Object(thrown) as Error).name] ?? [
    code === undefined ? 'its login server is not understood' : `its login server refuses: ${code}`,
    'run it again; if it stays so, tell whoever runs the server',
  ];
  return new ToolError('unavailable', `cannot log in to ${quoteOutside(server.name, 60)}: ${what}`, {
    hint,
    data: { server: server.name, ...(code === undefined ? {} : { code }) },
  });
}
