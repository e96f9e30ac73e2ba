// An authorization server and a protected MCP server: metadata, registration, PKCE, codes, rotating refresh tokens.

import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, type KeyObject, randomBytes, verify } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { orNothing } from '../../src/core/error.js';
import { type LocalServer, listen, readBody, sendJson } from './http.js';

export interface LoginServerOptions {
  /** Lifetime of an access token in seconds. */
  readonly expiresIn?: number;
  /** Preregistered clients, the only ones if registration is off. */
  readonly clients?: Readonly<Record<string, { readonly secret?: string; readonly key?: KeyObject }>>;
  readonly registration?: boolean;
  /** What the protected server names as its login server, instead of this one. */
  readonly namedIssuer?: string;
  /** Duration of a token refresh in milliseconds. */
  readonly renewalMs?: number;
  /** Delay of every second 401 response, until after other processes have refreshed. */
  readonly lateRefusalMs?: number;
  /** A different authorization endpoint. */
  readonly authorizationEndpoint?: string;
  /** A wrong issuer in the authorization response. */
  readonly wrongIssuer?: string;
  /** Replaces fields of every token response. */
  readonly tokens?: Readonly<Record<string, unknown>>;
  /** A path whose requests are never answered, of either server. */
  readonly silent?: string;
  /** Returns the account of an access token that somebody else issued; undefined if it is not valid. */
  readonly accepts?: (token: string) => string | undefined;
  /** A scope that requests need besides the one of the challenge; token responses do not name scopes then. */
  readonly requiredScope?: string;
}

export interface LoginServer {
  readonly url: string;
  readonly issuer: string;
  /** All issued tokens and secrets. */
  readonly secrets: string[];
  readonly registrations: Record<string, unknown>[];
  readonly refreshes: { readonly token: string; readonly ok: boolean }[];
  readonly revoked: string[];
  /** Parameters of the requests to revoke a token. */
  readonly revocations: Readonly<Record<string, string>>[];
  /** Token requests without a person: their parameters. */
  readonly grants: Readonly<Record<string, string>>[];
  /** Requests to the MCP server with their response status. */
  readonly calls: { readonly authorization: string | undefined; readonly status: number }[];
  /** Unexpected requests to the authorization server. */
  readonly seen: IncomingMessage[];
  /** Revokes all refresh tokens issued so far. */
  revokeAll(): void;
  /** Revokes all access tokens issued so far. */
  expireAll(): void;
  /** From now on, requests to the MCP server fail with status 500 after the login, or no longer. */
  fail(isFailing: boolean): void;
}

interface Grant {
  readonly client: string;
  readonly scope: string;
  readonly resource: string;
  /** Who logged in, if the page was told. */
  readonly account?: string | undefined;
}

const random = (kind: string): string => `${kind}-${randomBytes(18).toString('base64url')}`;

export async function startLoginServer(options: LoginServerOptions = {}): Promise<LoginServer> {
  const { expiresIn = 3600, renewalMs = 0, registration = true } = options;
  const clients = new Map<string, { redirects: string[] | null; secret?: string; key?: KeyObject }>(
    Object.entries(options.clients ?? {}).map(([id, client]) => [id, { redirects: null, ...client }]),
  );
  const codes = new Map<string, Grant & { challenge: string; redirect: string }>();
  const access = new Map<string, Grant & { until: number }>();
  const refresh = new Map<string, Grant>();
  const secrets: string[] = [];
  const registrations: Record<string, unknown>[] = [];
  const refreshes: { token: string; ok: boolean }[] = [];
  const revoked: string[] = [];
  const revocations: Record<string, string>[] = [];
  const grants: Record<string, string>[] = [];
  const calls: { authorization: string | undefined; status: number }[] = [];

  const give = (response: ServerResponse, grant: Grant, renewable = true): void => {
    const [token, renewal] = [random('access'), random('refresh')];
    secrets.push(token, renewal);
    access.set(token, { ...grant, until: performance.now() + expiresIn * 1000 });
    refresh.set(renewal, grant);
    const { scope } = grant;
    sendJson(response, {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expiresIn,
      ...(renewable ? { refresh_token: renewal } : {}),
      ...(options.requiredScope === undefined ? { scope } : {}),
      ...options.tokens,
    });
  };
  const refuse = (response: ServerResponse, error: string): void =>
    sendJson(response, { error, error_description: '\u001b[31mtext of the server' }, 400);

  const onToken = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await readBody(request));
    const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? '')?.[1];
    const [id = '', secret] =
      basic === undefined
        ? [
            form.get('client_id') ?? (form.has('client_assertion') ? 'machine' : ''),
            form.get('client_secret') ?? undefined,
          ]
        : Buffer.from(basic, 'base64').toString().split(':');
    const client = clients.get(id);
    if (client?.key !== undefined && !isSigned(form, client.key, issuer.origin))
      return refuse(response, 'invalid_client');
    if (client === undefined || client.secret !== secret) return refuse(response, 'invalid_client');
    if (/^(?:client_credentials|urn:.*:jwt-bearer)$/.test(form.get('grant_type') ?? '')) {
      grants.push(Object.fromEntries(form));
      const wrong = form.get('assertion') === 'wrong';
      if (wrong) return refuse(response, 'invalid_grant');
      return give(
        response,
        {
          client: id,
          scope: form.get('scope') ?? '',
          resource: form.get('resource') ?? '',
          account: subjectOf(form.get('assertion') ?? ''),
        },
        false,
      );
    }
    if (form.get('grant_type') === 'refresh_token') {
      const token = form.get('refresh_token') ?? '';
      const grant = refresh.get(token);
      refreshes.push({ token, ok: grant?.client === id });
      if (grant?.client !== id) return refuse(response, 'invalid_grant');
      refresh.delete(token);
      setTimeout(() => give(response, grant), renewalMs);
      return;
    }
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const fits =
      code?.client === id &&
      code.challenge === challenge &&
      code.redirect === form.get('redirect_uri') &&
      code.resource === form.get('resource');
    if (fits) give(response, code);
    else refuse(response, 'invalid_grant');
  };

  const onAuthorize = (url: URL, response: ServerResponse): void => {
    const get = (name: string): string => url.searchParams.get(name) ?? '';
    const client = clients.get(get('client_id'));
    const known = client?.redirects === null || client?.redirects.includes(get('redirect_uri'));
    if (!known || get('code_challenge_method') !== 'S256' || get('response_type') !== 'code') {
      sendJson(response, 'no', 400);
      return;
    }
    const back = new URL(get('redirect_uri'));
    back.searchParams.set('state', get('state'));
    back.searchParams.set('iss', options.wrongIssuer ?? issuer.origin);
    if (url.searchParams.has('deny')) back.searchParams.set('error', 'access_denied');
    else {
      const code = random('code');
      secrets.push(code);
      codes.set(code, {
        client: get('client_id'),
        challenge: get('code_challenge'),
        redirect: get('redirect_uri'),
        scope: get('scope'),
        resource: get('resource'),
        account: url.searchParams.get('account') ?? undefined,
      });
      back.searchParams.set('code', code);
    }
    response.writeHead(302, { location: back.href }).end();
  };

  const onRegister = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = JSON.parse(await readBody(request)) as { redirect_uris: string[] };
    registrations.push(asked);
    const id = random('client');
    clients.set(id, { redirects: asked.redirect_uris });
    sendJson(response, { ...asked, client_id: id }, 201);
  };

  const issuer: LocalServer = await listen((request, response) => {
    const url = new URL(request.url!, issuer.origin);
    if (url.pathname === options.silent) return;
    if (url.pathname === '/authorize') return onAuthorize(url, response);
    if (url.pathname === '/token') return void onToken(request, response);
    if (url.pathname === '/register') return void onRegister(request, response);
    if (url.pathname === '/revoke') {
      return void readBody(request).then((body) => {
        const form = Object.fromEntries(new URLSearchParams(body));
        revoked.push(form.token ?? '');
        revocations.push(form);
        response.end();
      });
    }
    if (url.pathname !== '/.well-known/oauth-authorization-server') return sendJson(response, 'no', 404);
    sendJson(response, {
      issuer: issuer.origin,
      authorization_endpoint: options.authorizationEndpoint ?? `${issuer.origin}/authorize`,
      token_endpoint: `${issuer.origin}/token`,
      revocation_endpoint: `${issuer.origin}/revoke`,
      ...(registration ? { registration_endpoint: `${issuer.origin}/register` } : {}),
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'private_key_jwt'],
      authorization_response_iss_parameter_supported: true,
    });
  });

  const account = new AsyncLocalStorage<string | undefined>();
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'behind', version: '1' });
    server.registerTool('whoami', { description: 'Says hello' }, () => ({
      content: [{ type: 'text', text: ['hello', account.getStore()].join(' ').trim() }],
    }));
    return server;
  });
  let refusals = 0;
  let isFailing = false;
  const serve = getRequestListener((request) => handler.fetch(request), { overrideGlobalObjects: false });
  const resource: LocalServer = await listen((request, response) => {
    if (request.url === options.silent) return;
    if (request.url === '/.well-known/oauth-protected-resource/mcp') {
      return sendJson(response, {
        resource: `${resource.origin}/mcp`,
        authorization_servers: [options.namedIssuer ?? issuer.origin],
        scopes_supported: ['tools'],
      });
    }
    const { authorization } = request.headers;
    const token = authorization?.replace(/^Bearer /, '') ?? '';
    const foreign = options.accepts?.(token);
    const grant =
      foreign === undefined
        ? access.get(token)
        : { client: '', scope: '', resource: '', account: foreign, until: Number.POSITIVE_INFINITY };
    const allowed = grant !== undefined && grant.until > performance.now();
    response.once('finish', () => calls.push({ authorization, status: response.statusCode }));
    const { requiredScope = '' } = options;
    if (allowed && !grant.scope.includes(requiredScope)) {
      const challenge = `Bearer error="insufficient_scope", scope="${requiredScope}"`;
      return void response.writeHead(403, { 'www-authenticate': challenge }).end();
    }
    if (allowed && isFailing) return void response.writeHead(500).end();
    if (allowed) return void account.run(grant.account, () => serve(request, response));
    const metadata = `${resource.origin}/.well-known/oauth-protected-resource/mcp`;
    const refuseCall = (): void => {
      response.writeHead(401, {
        'www-authenticate': `Bearer resource_metadata="${metadata}", scope="tools"`,
      });
      response.end();
    };
    if (refusals++ % 2 === 1) setTimeout(refuseCall, options.lateRefusalMs ?? 0);
    else refuseCall();
  });
  return {
    url: `${resource.origin}/mcp`,
    issuer: issuer.origin,
    secrets,
    registrations,
    refreshes,
    revoked,
    revocations,
    grants,
    calls,
    seen: issuer.requests,
    revokeAll: () => refresh.clear(),
    expireAll: () => access.clear(),
    fail: (failing) => {
      isFailing = failing;
    },
  };
}

/** The user of a JSON Web Token, not verified; undefined for other texts. */
export function subjectOf(token: string): string | undefined {
  const [, payload = ''] = token.split('.');
  return orNothing(() => JSON.parse(Buffer.from(payload, 'base64url').toString()).sub);
}

// Whether the client proved its identity by a JWT for this issuer (RFC 7523).
function isSigned(form: URLSearchParams, key: KeyObject, audience: string): boolean {
  const [head = '', body = '', signature = ''] = (form.get('client_assertion') ?? '').split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  const bytes = Buffer.from(signature, 'base64url');
  const hash = read(head).alg === 'EdDSA' ? null : 'sha256';
  const { iss, sub, aud } = read(body);
  return (
    verify(hash, Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' }, bytes) &&
    [iss, sub, aud].join(' ') === `machine machine ${audience}`
  );
}
