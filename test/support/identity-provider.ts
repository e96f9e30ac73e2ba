// An identity provider on loopback: the metadata and keys of an issuer, and tokens that it signs.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import { readBody, sendJson } from './http.js';
import { onEnd } from './share.js';

export interface IdentityProvider {
  readonly issuer: string;
  /** How often its keys were read. */
  reads(): number;
  /** Signs a token; `header` and `claims` replace what a valid one has. */
  sign(claims?: object, header?: object, key?: CryptoKey): Promise<string>;
  /** Replaces the key, as a provider does from time to time. */
  rotate(): Promise<void>;
  /** What it answers about an opaque token; without one, that it is not active. */
  readonly opaque: Map<string, object>;
  /** The opaque tokens that it was asked about, with the credentials of the client. */
  readonly asked: { readonly token: string; readonly credentials: string }[];
  /** The claims of a valid opaque token, some of them replaced. */
  active(claims?: object): object;
  /** Answers questions about tokens with this status and body. */
  breakIntrospection(status: number, body?: string, headers?: Record<string, string>): void;
  /** Requests to exchange a token, with the credentials of their client. */
  readonly exchanges: Readonly<Record<string, string>>[];
  /** Replaces fields of the answers to them. */
  answerExchangesWith(fields: Record<string, unknown>, status?: number, headers?: Record<string, string>): void;
  /** Does not answer any more. */
  stop(): void;
  readonly publicKey: () => JWK;
}

export async function createProvider(audience: string): Promise<IdentityProvider> {
  let reads = 0;
  let isStopped = false;
  let count = 0;
  const next = async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    return { kid: `key-${++count}`, privateKey, jwk: await exportJWK(publicKey) };
  };
  let current = await next();
  const opaque = new Map<string, object>();
  const asked: IdentityProvider['asked'] = [];
  let broken: { status: number; body: string | undefined; headers: Record<string, string> } | undefined;
  const exchanges: Record<string, string>[] = [];
  let changed: { fields: object; status: number; headers: Record<string, string> } | undefined;
  // RFC 8693, with a token of this provider.
  const exchange = async (request: IncomingMessage, body: string, response: ServerResponse): Promise<void> => {
    const form = Object.fromEntries(new URLSearchParams(body));
    const credentials = Buffer.from(String(request.headers.authorization).slice(6), 'base64').toString();
    exchanges.push({ ...form, credentials });
    const isJag = form.requested_token_type?.endsWith('id-jag') === true;
    const { payload } = await jwtVerify(form.subject_token!, await importJWK(current.jwk, 'ES256'));
    const claims = { sub: payload.sub, aud: isJag ? form.audience : form.resource, scope: form.scope };
    const access_token = await self.sign(claims, { typ: isJag ? 'oauth-id-jag+jwt' : 'at+jwt' });
    const { fields = {}, status = 200, headers = {} } = changed ?? {};
    const type = { issued_token_type: form.requested_token_type, token_type: 'Bearer', expires_in: 300 };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ access_token, ...type, ...fields }));
  };
  const server = createServer((request, response) => {
    if (isStopped) return void response.destroy();
    if (request.url === '/.well-known/openid-configuration')
      return sendJson(response, {
        issuer,
        jwks_uri: `${issuer}/keys`,
        introspection_endpoint: `${issuer}/introspect`,
        token_endpoint: `${issuer}/token`,
      });
    if (request.url === '/introspect') {
      void readBody(request).then((body) => {
        const token = new URLSearchParams(body).get('token') ?? '';
        const credentials = Buffer.from(String(request.headers.authorization).slice(6), 'base64').toString();
        asked.push({ token, credentials });
        if (broken !== undefined) response.writeHead(broken.status, broken.headers).end(broken.body);
        else sendJson(response, opaque.get(token) ?? { active: false });
      });
      return;
    }
    if (request.url === '/token') return void readBody(request).then((body) => exchange(request, body, response));
    reads++;
    sendJson(response, { keys: [{ ...current.jwk, kid: current.kid, alg: 'ES256', use: 'sig' }] });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: IdentityProvider = {
    issuer,
    exchanges,
    answerExchangesWith(fields, status = 200, headers = {}) {
      changed = { fields, status, headers };
    },
    reads: () => reads,
    publicKey: () => current.jwk,
    async sign(claims = {}, header = {}, key = current.privateKey) {
      const seconds = Math.floor(Date.now() / 1000);
      const payload = { iss: issuer, aud: audience, sub: 'ada', scope: 'mcp', exp: seconds + 300, ...claims };
      const typed = { alg: 'ES256', kid: current.kid, typ: 'at+jwt', ...header };
      return new SignJWT(payload).setProtectedHeader(typed).sign(key);
    },
    opaque,
    asked,
    active: (claims = {}) => {
      const exp = Math.floor(Date.now() / 1000) + 300;
      return { active: true, iss: issuer, aud: audience, sub: 'ada', scope: 'mcp', exp, ...claims };
    },
    breakIntrospection(status, body, headers = {}) {
      broken = { status, body, headers };
    },
    async rotate() {
      current = await next();
    },
    stop() {
      isStopped = true;
      server.closeAllConnections();
    },
  };
  return self;
}
