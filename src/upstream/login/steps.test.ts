// Tests that a configured client is bound to the login server of its first login.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { HttpServer } from '../../core/upstream.js';
import { type StoredLogin, writeLogin } from './file.js';
import { createProvider } from './steps.js';

const SERVER: HttpServer = {
  kind: 'http',
  name: 'far',
  owner: 'user',
  position: { file: 'mcp.json', pointer: null, line: null },
  url: 'https://far.example/mcp',
  headers: {},
  oauth: { clientId: 'configured', clientSecret: 'the secret' },
};

const LOGIN: StoredLogin = {
  version: 1,
  server: 'far',
  url: SERVER.url,
  issuer: 'https://login.example',
  tokenEndpoint: 'https://login.example/token',
  authMethods: null,
  revocationEndpoint: null,
  resource: null,
  client: { id: 'configured', secret: null },
  tokens: null,
  expiresAt: null,
};

test('the secret of a configured client is only for the issuer of its first login', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'wield-login-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const issuerOf = async (server: HttpServer): Promise<unknown> => {
    const options = { directory, redirectUrl: 'http://127.0.0.1/callback', state: 'x' };
    const client = await createProvider({}, server, options).clientInformation();
    return (client as { issuer?: string } | undefined)?.issuer;
  };
  expect(await issuerOf(SERVER)).toBeUndefined();
  writeLogin(directory, SERVER, LOGIN);
  expect(await issuerOf(SERVER)).toBe('https://login.example');
  expect(await issuerOf({ ...SERVER, oauth: { clientId: 'another' } })).toBeUndefined();
});
