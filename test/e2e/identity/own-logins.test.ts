// Servers at which every user has a login of their own: links, accounts, renewal, lists and logout.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { wield } from '../../support/cli.js';
import { callTool, connectStdio } from '../../support/clients.js';
import { SAMPLED, some } from '../../support/effort.js';
import { findLink, logInAt, type OwnLogins, startOwnLogins, type User } from '../../support/own-logins.js';
import { patience } from '../../support/patience.js';
import { sleep } from '../../support/processes.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';

async function logIn(gateway: OwnLogins, user: User): Promise<void> {
  const done = await logInAt(findLink(await gateway.call(user)), `${user}'s account`);
  expect(done.status).toBe(200);
}

describe.concurrent('a server with a login of every user', () => {
  for (const protocol of some(['older', 'newer'] as const, 1))
    spec(
      'IDN-21',
      `sends a user to a page, and calls with their own account: ${protocol} protocol version${SAMPLED}`,
      async () => {
        const gateway = await startOwnLogins();
        const asked = await gateway.call('ada', protocol);
        expect(asked).toContain('notes: ada has to log in there first');
        const link = findLink(asked);
        expect(link.origin).toBe(new URL(gateway.url).origin);
        const page = await fetch(link);
        expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
        expect(await page.text()).toContain('This link is for ada only');
        const done = await logInAt(link, "ada's account");
        expect(await done.text()).toContain('ada is logged in to notes');
        expect(await gateway.call('ada', protocol)).toBe("hello ada's account");
        expect(await gateway.call('bob', protocol)).toContain('bob has to log in there first');
        await logIn(gateway, 'bob');
        expect(await gateway.call('bob', protocol)).toBe("hello bob's account");
        expect(await gateway.call('ada', protocol)).toBe("hello ada's account");
      },
    );

  for (const protocol of some(['newer', 'older'] as const, 1))
    spec(
      'IDN-21',
      `asks clients that can show a page during the call: ${protocol} protocol version${SAMPLED}`,
      async () => {
        const gateway = await startOwnLogins();
        const newer = protocol === 'newer' ? { versionNegotiation: { mode: 'auto' as const } } : {};
        const client = new Client(
          { name: 'test', version: '1' },
          { ...newer, capabilities: { elicitation: { form: {}, url: {} } } },
        );
        let isDeclined = true;
        client.setRequestHandler('elicitation/create', async ({ params }) => {
          if (isDeclined || !('url' in params)) return { action: 'decline' };
          await logInAt(new URL(params.url), "ada's account");
          return { action: 'accept' };
        });
        await client.connect(
          new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit: { headers: gateway.headers('ada') } }),
        );
        onEnd(() => client.close());
        expect(await callTool(client, 'notes_whoami')).toMatchObject({ isError: true });
        isDeclined = false;
        expect(await callTool(client, 'notes_whoami')).toMatchObject({ content: [{ text: "hello ada's account" }] });
      },
    );

  spec('IDN-22', 'renews the login of each user by itself, and asks again if it was revoked', async () => {
    // Long enough for a call with a new token.
    const expiresIn = Math.ceil(patience(1000) / 1000);
    const gateway = await startOwnLogins({ expiresIn });
    await logIn(gateway, 'ada');
    await logIn(gateway, 'bob');
    await sleep(expiresIn * 1000 + 100);
    const both = await Promise.all([gateway.call('ada'), gateway.call('bob'), gateway.call('ada')]);
    expect(both).toEqual(["hello ada's account", "hello bob's account", "hello ada's account"]);
    expect(gateway.login.refreshes.every(({ ok }) => ok)).toBe(true);
    gateway.login.revokeAll();
    gateway.login.expireAll();
    expect(await gateway.call('ada')).toContain('has to log in there first');
    await logIn(gateway, 'ada');
    expect(await gateway.call('ada')).toBe("hello ada's account");
  });

  spec('IDN-22', 'that fails is neither called again, nor asks a user who is logged in', async () => {
    for (const isConnected of [false, true]) {
      const gateway = await startOwnLogins();
      await logIn(gateway, 'ada');
      if (isConnected) expect(await gateway.call('ada')).toBe("hello ada's account");
      gateway.login.fail(true);
      const before = gateway.login.calls.length;
      const failed = await gateway.call('ada');
      expect([isConnected, failed]).toEqual([isConnected, expect.stringContaining('500')]);
      expect(failed).not.toContain('/login/');
      const asked = gateway.login.calls.slice(before);
      expect(new Set(asked.map(({ authorization }) => authorization)).size).toBe(1);
      if (isConnected) expect(asked).toHaveLength(1);
    }
  });

  spec('IDN-23', 'is listed by the first user who logs in, if the machine has no login', async () => {
    const gateway = await startOwnLogins({}, '', false);
    const client = await gateway.connect('ada', 'older');
    const said: string[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void said.push(String(params.data)));
    const namesNow = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await namesNow()).not.toContain('notes_whoami');
    await logInAt(findLink(said.join('\n')), "ada's account");
    expect(await namesNow()).toContain('notes_whoami');
    expect(await gateway.call('ada')).toBe("hello ada's account");
    expect(await gateway.call('bob')).toContain('bob has to log in there first');
    const listedBy = (): string[] =>
      readdirSync(gateway.workspace.env.WIELD_HOME!, { recursive: true, withFileTypes: true })
        .filter(({ name }) => name.endsWith('.listing'))
        .map(({ parentPath, name }) => JSON.parse(readFileSync(join(parentPath, name), 'utf8')).by);
    const before = listedBy();
    expect(before).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    await logIn(gateway, 'bob');
    expect(await gateway.call('bob')).toBe("hello bob's account");
    expect(listedBy()).toEqual(before);
  });

  spec('IDN-24', 'logs a user out, and nobody else', async () => {
    const gateway = await startOwnLogins();
    await logIn(gateway, 'ada');
    await logIn(gateway, 'bob');
    const { workspace, login } = gateway;
    expect((await wield(workspace, ['mcp', 'logout', 'notes', '--user', 'eve'])).stdout).toContain('Not logged in');
    const out = await wield(workspace, ['mcp', 'logout', 'notes', '--user', 'ada']);
    expect(out.stdout).toBe('Logged out of notes as ada.\n');
    expect(login.revoked).toHaveLength(1);
    expect(await gateway.call('ada')).toContain('has to log in there first');
    expect(await gateway.call('bob')).toBe("hello bob's account");
  });

  spec('IDN-25', 'has one login for the person of the machine over stdio', async () => {
    const { workspace } = await startOwnLogins();
    const client = await connectStdio(workspace, 'newer');
    expect(await callTool(client, 'notes_whoami')).toMatchObject({ content: [{ text: 'hello machine' }] });
  });
});
