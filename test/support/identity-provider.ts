// An identity provider on loopback: the metadata and keys of an issuer, and tokens that it signs.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { sendJson } from './http.js';
import { onEnd } from './share.js';

export interface IdentityProvider {
  readonly issuer: string;
  /** How often its keys were read. */
  reads(): number;
  /** Signs a token; `header` and `claims` replace what a valid one has. */
  sign(claims?: object, header?: object, key?: CryptoKey): Promise<string>;
  /** Replaces the key, as a provider does from time to time. */
  rotate(): Promise<void>;
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
  const server = createServer((request, response) => {
    if (isStopped) return void response.destroy();
    if (request.url === '/.well-known/openid-configuration')
      return sendJson(response, { issuer, jwks_uri: `${issuer}/keys` });
    reads++;
    sendJson(response, { keys: [{ ...current.jwk, kid: current.kid, alg: 'ES256', use: 'sig' }] });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    reads: () => reads,
    publicKey: () => current.jwk,
    async sign(claims = {}, header = {}, key = current.privateKey) {
      const seconds = Math.floor(Date.now() / 1000);
      const payload = { iss: issuer, aud: audience, sub: 'ada', scope: 'mcp', exp: seconds + 300, ...claims };
      const typed = { alg: 'ES256', kid: current.kid, typ: 'at+jwt', ...header };
      return new SignJWT(payload).setProtectedHeader(typed).sign(key);
    },
    async rotate() {
      current = await next();
    },
    stop() {
      isStopped = true;
      server.closeAllConnections();
    },
  };
}
