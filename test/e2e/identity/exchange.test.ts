// Servers that get a token for each user from the identity provider, in exchange for the user's own.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { wield } from '../../support/cli.js';
import { startExchange } from '../../support/exchange-gateway.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

describe.concurrent('a token of the caller', () => {
  spec('IDN-27', 'is exchanged for one of the server, once for each user', async () => {
    const gateway = await startExchange('token_exchange');
    const { provider, call } = gateway;
    expect(await call('ada')).toBe('hello ada');
    expect(await call('bob')).toBe('hello bob');
    expect(await call('ada')).toBe('hello ada');
    expect(provider.exchanges).toHaveLength(2);
    expect(provider.exchanges[0]).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: gateway.login.url,
      credentials: 'gateway:idp-secret',
    });
    // Neither the server nor a file gets the token of the user.
    const subjects = provider.exchanges.map(({ subject_token: token }) => token!);
    for (const { authorization } of gateway.login.calls)
      for (const subject of subjects) expect(authorization ?? '').not.toContain(subject);
    const home = gateway.workspace.env.WIELD_HOME!;
    for (const name of readdirSync(home, { recursive: true, withFileTypes: true }))
      if (name.isFile()) {
        const text = readFileSync(join(name.parentPath, name.name), 'utf8');
        for (const secret of [...subjects, 'idp-secret']) expect(text).not.toContain(secret);
      }
  });

  spec('IDN-27', 'is exchanged for an assertion, which the login server accepts', async () => {
    const { provider, login, call } = await startExchange('id_jag');
    expect(await call('ada')).toBe('hello ada');
    expect(await call('bob')).toBe('hello bob');
    expect(provider.exchanges[0]).toMatchObject({
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: login.issuer,
      resource: login.url,
    });
    expect(login.grants[0]).toMatchObject({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer' });
  });

  spec('IDN-27', 'is needed: nobody else can use the server', async () => {
    const { workspace } = await startExchange('token_exchange');
    const local = await wield(workspace, ['call', 'notes_whoami']);
    expect(local.status).not.toBe(0);
    expect(local.stderr).toContain('no token of');
  });

  spec('IDN-27', 'needs a complete entry', async () => {
    const workspace = createWorkspace();
    const url = 'https://notes.example.com/mcp';
    const idp = { issuer: 'https://id.example.com', clientId: 'a' };
    mkdirSync(join(workspace.home, '.agents'), { recursive: true });
    const wrong: Readonly<Record<string, object>> = {
      'has no "idp"': { grant: 'token_exchange' },
      'is used with the grants': { clientId: 'a', idp },
      'is not used with the grant "token_exchange"': { grant: 'token_exchange', idp, clientId: 'a' },
      'must begin with https://': { grant: 'token_exchange', idp: { ...idp, issuer: 'id' } },
      'no "issuer"': { grant: 'id_jag', clientId: 'a', idp },
      'is made by the identity provider': { grant: 'id_jag', clientId: 'a', issuer: url, idp, assertion: 'x' },
    };
    for (const [message, oauth] of Object.entries(wrong)) {
      const file = JSON.stringify({ mcpServers: { notes: { url, oauth } } });
      writeFileSync(join(workspace.home, '.agents/mcp.json'), file);
      const { stdout, stderr } = await wield(workspace, ['mcp']);
      expect(stdout + stderr, message).toContain(message);
    }
    const dashed = { issuer: idp.issuer, 'client-id': 'a', 'client-secret': '${SECRET}' };
    for (const [given, isWrong] of [
      [dashed, false],
      [{ ...dashed, clientId: 'a' }, true],
    ] as const) {
      const file = JSON.stringify({ mcpServers: { notes: { url, oauth: { grant: 'token_exchange', idp: given } } } });
      writeFileSync(join(workspace.home, '.agents/mcp.json'), file);
      const { stdout, stderr } = await wield(workspace, ['doctor']);
      expect([/oauth\.idp/.test(stdout + stderr), stdout]).toEqual([isWrong, expect.any(String)]);
    }
  });
});
