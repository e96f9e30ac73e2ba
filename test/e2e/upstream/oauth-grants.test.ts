// Logins without a person: credentials of a client, or an assertion, that only the configured login server gets.

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { listen, sendJson } from '../../support/http.js';
import { type LoginServerOptions, startLoginServer } from '../../support/login-server.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SECRET = 'machine-secret-4711';

/** A workspace in which `notes` is a server that requires the login. */
async function createNotes(
  oauth: Record<string, string> = { clientSecret: '${NOTES_SECRET}' },
  options: LoginServerOptions = {},
) {
  const upstream = await startLoginServer({
    clients: { machine: { secret: SECRET } },
    registration: false,
    ...options,
  });
  const workspace = createWorkspace();
  workspace.env.NOTES_SECRET = SECRET;
  const configure = (more: Record<string, string>): void =>
    writeEntry(workspace, upstream.url, { grant: 'client_credentials', issuer: upstream.issuer, ...more });
  configure(oauth);
  const call = () => wield(workspace, ['call', 'notes_whoami']);
  const stored = (): string => {
    const directory = join(workspace.env.WIELD_HOME!, 'oauth');
    return readdirSync(directory)
      .map((name) => readFileSync(join(directory, name), 'utf8'))
      .join('\n');
  };
  return { upstream, workspace, configure, call, stored };
}

function writeEntry(workspace: Workspace, url: string, oauth: Record<string, string>): void {
  const entry = { url, oauth: { clientId: 'machine', ...oauth } };
  mkdirSync(join(workspace.home, '.agents'), { recursive: true });
  writeFileSync(join(workspace.home, '.agents/mcp.json'), JSON.stringify({ mcpServers: { notes: entry } }));
}

describe('a login without a person', () => {
  spec('UPS-98', 'is made with the secret of a client when the server requires it, and shared', async () => {
    const { upstream, call, stored, workspace } = await createNotes();
    expect(await call()).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect((await call()).stdout).toBe('hello\n');
    expect(upstream.grants).toEqual([{ grant_type: 'client_credentials', scope: 'tools', resource: upstream.url }]);
    expect(stored()).toContain(upstream.secrets[0]!);
    expect(stored()).not.toContain(SECRET);
    const login = await wield(workspace, ['mcp', 'login', 'notes']);
    expect(login.stdout).toMatch(/^Logged in to notes .*renewed automatically\.\n$/);
    expect(await wield(workspace, ['mcp', 'login', 'notes', '--scope', 'all'])).toMatchObject({ status: 2 });
    expect(upstream.grants).toHaveLength(2);
    await wield(workspace, ['mcp', 'logout', 'notes']);
    expect(upstream.revoked).toHaveLength(1);
    const shown = json(await wield(workspace, ['mcp', '--json']));
    expect(JSON.stringify(shown)).not.toContain(SECRET);
  });

  spec('UPS-98', 'is repeated when the token expires or is rejected, with what references refer to then', async () => {
    const { upstream, workspace, configure } = await createNotes(undefined, { expiresIn: 1 });
    const file = join(workspace.home, 'secret');
    writeFileSync(file, SECRET, { mode: 0o600 });
    configure({ clientSecret: `file:${file}`, scope: 'tools more' });
    const toolbox = workspace.toolbox();
    const call = async () => textOf(await toolbox.call('notes_whoami', {}));
    expect(await call()).toBe('hello');
    upstream.expireAll();
    // Calls at the same time share a login.
    expect(await Promise.all([call(), call(), call()])).toEqual(['hello', 'hello', 'hello']);
    expect(upstream.grants.length).toBeLessThanOrEqual(3);
    expect(upstream.grants[0]).toMatchObject({ scope: 'tools more' });
    writeFileSync(file, 'another-secret');
    upstream.expireAll();
    const failed = await toolbox.call('notes_whoami', {});
    expect(failed.error).toMatchObject({
      code: 'unavailable',
      message: 'cannot log in to notes: its login server answered: invalid_client',
      hint: expect.stringMatching(/^check oauth in its entry in .*mcp\.json/),
    });
    expect(JSON.stringify(failed)).not.toContain('another-secret');
  });

  spec.thorough('UPS-98', 'proves who it is by a signed JWT, or passes an assertion on', async () => {
    const pairs = [
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
      generateKeyPairSync('ed25519'),
    ];
    for (const [at, { publicKey, privateKey }] of pairs.entries()) {
      const { upstream, workspace, configure, call } = await createNotes(undefined, {
        clients: { machine: { key: publicKey } },
      });
      const key = join(workspace.home, 'key');
      const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
      writeFileSync(key, at === 1 ? JSON.stringify(privateKey.export({ format: 'jwk' })) : pem);
      configure({ privateKey: `file:${key}` });
      expect(await call()).toMatchObject({ stdout: 'hello\n', stderr: '' });
      expect(upstream.grants[0]).not.toHaveProperty('client_secret');
      writeFileSync(key, 'not a key');
      upstream.expireAll();
      expect((await call()).stderr).toContain('oauth.privateKey is not a private key');
    }
    const { upstream, configure, call, workspace } = await createNotes(undefined, { clients: { machine: {} } });
    workspace.env.IDENTITY = 'signed.by.platform';
    configure({ grant: 'jwt_bearer', assertion: '${IDENTITY}' });
    expect(await call()).toMatchObject({ stdout: 'hello\n', stderr: '' });
    expect(upstream.grants[0]).toMatchObject({ assertion: 'signed.by.platform', client_id: 'machine' });
    workspace.env.IDENTITY = 'wrong';
    upstream.expireAll();
    expect((await call()).stderr).toContain('its login server answered: invalid_grant');
  });

  spec('UPS-98', 'sends its secret to the configured login server only', async () => {
    const asked: string[] = [];
    const thief = await listen((request, response) => {
      asked.push(request.url!);
      sendJson(response, { issuer: thief.origin, token_endpoint: `${thief.origin}/token` });
    });
    const { upstream, call, configure } = await createNotes(undefined, { namedIssuer: thief.origin });
    expect((await call()).stderr).toContain('it names other login servers than oauth.issuer');
    expect([asked, upstream.grants]).toEqual([[], []]);
    // Metadata that names another issuer, and a login server without TLS.
    const liar = await listen((request, response) =>
      sendJson(response, {
        issuer: upstream.issuer,
        authorization_endpoint: `${thief.origin}${request.url}`,
        token_endpoint: `${thief.origin}/token`,
        response_types_supported: ['code'],
      }),
    );
    const second = await createNotes(undefined, { namedIssuer: liar.origin });
    second.configure({ issuer: liar.origin, clientSecret: '${NOTES_SECRET}' });
    expect((await second.call()).stderr).toContain('different issuers');
    configure({ issuer: 'http://login.example.com', clientSecret: '${NOTES_SECRET}' });
    expect((await call()).stderr).toContain('oauth.issuer is not an https:// URL');
    expect(asked).toEqual([]);
  });

  spec('UPS-98', 'needs an issuer and one kind of credentials, and no secret in plain text', async () => {
    const workspace = createWorkspace();
    const problem = async (oauth: Record<string, string>) => {
      writeEntry(workspace, 'https://notes.example.com/mcp', oauth);
      return (await wield(workspace, ['mcp'])).stderr;
    };
    const issuer = 'https://login.example.com';
    const grant = 'client_credentials';
    expect(await problem({ grant, clientSecret: '${A}' })).toContain('has a grant and no "issuer"');
    expect(await problem({ grant, issuer })).toContain('has neither "clientSecret" nor "privateKey"');
    expect(await problem({ grant, issuer, clientSecret: '${A}', privateKey: '${B}' })).toContain('keep one of them');
    expect(await problem({ grant: 'password', issuer })).toContain(
      'must be "client_credentials", "jwt_bearer", "token_exchange" or "id_jag"',
    );
    expect(await problem({ grant: 'jwt_bearer', issuer })).toContain('has no "assertion"');
    expect(await problem({ privateKey: '${B}' })).toContain('is used with a grant only');
    expect(await problem({ grant, issuer: 'login', clientSecret: '${A}' })).toContain('must begin with https://');
    const plain = await problem({ grant, issuer, privateKey: 'abcdefgh12345678' });
    expect(plain).toContain('contains a secret in plain text');
    expect(plain).not.toContain('abcdefgh12345678');
  });
});
