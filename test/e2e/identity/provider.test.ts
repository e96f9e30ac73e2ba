// Logins at a real identity provider (oidc-provider): MCP clients follow the metadata of the server, and call tools as a person.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { auth, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect } from 'vitest';
import { wield } from '../../support/cli.js';
import { connectUrl } from '../../support/clients.js';
import { createBrowser, createLogin, type PersonsLogin, serveBehindProxy, startOidc } from '../../support/oidc.js';
import { findLink, startOwnLogins } from '../../support/own-logins.js';
import { onEnd, share } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { trustNow } from '../../support/trusted.js';
import { createWorkspace } from '../../support/workspace.js';

const INFO = { name: 'test', version: '1' };
const GUIDE = new URL('../../../docs/guides/team-gateway.md', import.meta.url);
const issuer = share(() => startOidc({ ada: ['ops'], bob: ['contractors'] }));

interface Connected {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: object }): Promise<unknown>;
}
type Connect = (url: URL, login: PersonsLogin) => Promise<Connected>;

// The first attempt of a client ends at the login page of the provider.
const GENERATIONS = {
  async first(url, { provider, answer }) {
    const [before, transport] = [1, 2].map(() => new OlderTransport(url, { authProvider: provider as never }));
    await expect(new OlderClient(INFO).connect(before!)).rejects.toThrow(/Unauthorized/);
    await before!.finishAuth((await answer()).get('code')!);
    const client = new OlderClient(INFO);
    await client.connect(transport!);
    onEnd(() => client.close());
    return client as unknown as Connected;
  },
  async second(url, { provider, answer }) {
    const [before, transport] = [1, 2].map(() => new StreamableHTTPClientTransport(url, { authProvider: provider }));
    await expect(new Client(INFO).connect(before!)).rejects.toThrow(/Unauthorized/);
    await before!.finishAuth(await answer());
    const client = new Client(INFO, { versionNegotiation: { mode: 'auto' } });
    await client.connect(transport!);
    onEnd(() => client.close());
    return client as unknown as Connected;
  },
} satisfies Record<string, Connect>;

const connectBoth = (url: string, connect: Connect) =>
  Promise.all(['ada', 'bob'].map((name) => connect(new URL(url), createLogin(name))));

describe.concurrent('a login at a real identity provider', () => {
  for (const [name, connect] of Object.entries(GENERATIONS))
    spec(
      'IDN-20',
      `is made by the client of the ${name} generation of the SDK, which calls as its person`,
      async () => {
        const workspace = createWorkspace();
        workspace.config(
          `[serve.auth]\nissuer = "${issuer()}"\nscopes = ["mcp"]\n[trust]\nrules = ["deploy($group=contractors,$deny)"]\n`,
        );
        workspace.script('deploy', '#!/bin/sh\n# @description Deploys\necho deployed\n');
        trustNow(workspace);
        const url = await serveBehindProxy((publicUrl) => ['--public-url', publicUrl], workspace);
        const [ada, bob] = await connectBoth(url, connect);
        const call = { name: 'deploy', arguments: {} };
        expect(JSON.stringify(await ada!.callTool(call))).toContain('deployed');
        expect(await bob!.callTool(call)).toMatchObject({ isError: true });
        const { records } = JSON.parse((await wield(workspace, ['audit', '--user', '*', '--json'])).stdout);
        expect(records.map(({ user }: { user: string }) => user).sort()).toEqual(['ada', 'bob']);
      },
    );

  spec('IDN-20', 'is renewed by the client without its person', async () => {
    const workspace = createWorkspace();
    workspace.config(`[serve.auth]\nissuer = "${issuer()}"\nscopes = ["mcp"]\n`);
    const url = await serveBehindProxy((publicUrl) => ['--trust', '--public-url', publicUrl], workspace);
    const login = createLogin('ada');
    await GENERATIONS.second(new URL(url), login);
    const before = login.accessToken();
    expect(await auth(login.provider, { serverUrl: url })).toBe('AUTHORIZED');
    expect(login.accessToken()).not.toBe(before);
    const authorization = `Bearer ${login.accessToken()}`;
    await (await connectUrl(url, 'newer', undefined, { authorization })).listTools();
  });

  spec('IDN-26', 'proves who is at the login page of a server behind', async () => {
    const gateway = await startOwnLogins({}, `[serve.auth]\nissuer = "${issuer()}"\nscopes = ["mcp"]\n`);
    const ada = await GENERATIONS.second(new URL(gateway.url), createLogin('ada'));
    const call = async () => JSON.stringify(await ada.callTool({ name: 'notes_whoami', arguments: {} }));
    const openAs = async (name: string) => {
      const browser = createBrowser();
      const confirmed = await browser.open(findLink(await call()), {});
      const page = new URL(confirmed.headers.get('location')!);
      expect(page.origin).toBe(issuer());
      return { browser, answer: await browser.open(await browser.logIn(page, name)) };
    };
    const foreign = await openAs('bob');
    expect(foreign.answer.status).toBe(403);
    expect(await foreign.answer.text()).toContain('you logged in as somebody else');
    const own = await openAs('ada');
    const page = new URL(own.answer.headers.get('location')!);
    expect(page.origin).toBe(gateway.login.issuer);
    page.searchParams.set('account', 'of Ada');
    const answered = await own.browser.open(page);
    expect((await own.browser.open(new URL(answered.headers.get('location')!))).status).toBe(200);
    expect(await call()).toContain('hello of Ada');
    // Another user, although the name is the same.
    expect(await gateway.call('ada')).toContain('has to log in there first');
  });

  spec('IDN-20', 'makes the guide true: from nothing to two people with different rights', async () => {
    const [, section = ''] = /## From nothing to two people\n(.*?)\n## /s.exec(readFileSync(GUIDE, 'utf8')) ?? [];
    const [tool, config, start] = [...section.matchAll(/```\w+\n(.*?)```/gs)].map(([, text]) => text!);
    const workspace = createWorkspace();
    execFileSync('bash', ['-ec', tool!], { cwd: workspace.dir, env: workspace.env });
    workspace.config(config!.replace('https://id.example.com', issuer()));
    const words = start!.trim().split(' ');
    expect(words.slice(0, 2)).toEqual(['wield', 'serve']);
    // The port of the guide may be in use here.
    const args = words.slice(2).filter((word, index, all) => word !== '--http' && all[index - 1] !== '--http');
    const url = await serveBehindProxy(
      (publicUrl) => args.map((word) => word.replace('https://wield.example.com/mcp', publicUrl)),
      workspace,
    );
    const [ada, bob] = await connectBoth(url, GENERATIONS.second);
    const namesOf = async (client: Connected) => (await client.listTools()).tools.map((one) => one.name);
    expect(await namesOf(ada!)).toContain('deploy');
    expect(await namesOf(bob!)).not.toContain('deploy');
    const call = { name: 'deploy', arguments: { target: 'staging' } };
    expect(JSON.stringify(await ada!.callTool(call))).toContain('deployed to staging');
    expect(await bob!.callTool(call)).toMatchObject({ isError: true });
  });
});
