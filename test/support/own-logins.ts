// A gateway whose users log in to a server behind it, each with an account of their own.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpServer } from '../../src/core/upstream.js';
import { login } from '../../src/upstream/login/index.js';
import { toLoginDirectory } from '../../src/upstream/login/user.js';
import { callTool, connectUrl, type ProtocolVersion } from './clients.js';
import { type LoginServer, type LoginServerOptions, startLoginServer } from './login-server.js';
import { createBrowser, serveBehindProxy } from './oidc.js';
import { createWorkspace, type Workspace } from './workspace.js';

const USERS = ['ada', 'bob'] as const;
export type User = (typeof USERS)[number];

export interface OwnLogins {
  readonly workspace: Workspace;
  readonly login: LoginServer;
  /** The MCP endpoint, as clients see it. */
  readonly url: string;
  readonly headers: (user: User) => Record<string, string>;
  connect(user: User, protocol?: ProtocolVersion): ReturnType<typeof connectUrl>;
  /** Calls the tool of the server behind as a user, and returns its text. */
  call(user: User, protocol?: ProtocolVersion): Promise<string>;
}

export interface OwnLoginsOptions extends LoginServerOptions {
  /** Further fields of `oauth` in the entry. */
  readonly oauth?: object;
}

/** Starts the gateway. Its tools are listed by the login of the machine, unless `isListed` is false. */
export async function startOwnLogins(options: OwnLoginsOptions = {}, more = '', isListed = true): Promise<OwnLogins> {
  const upstream = await startLoginServer(options);
  const workspace = createWorkspace();
  const tables = USERS.map((user) => {
    writeFileSync(join(workspace.home, user), `${user.repeat(12)}\n`);
    return `[serve.tokens.${user}]\nfile = "~/${user}"\n`;
  });
  workspace.config([`[trust]\nrules = ["notes.*($policy=allow)"]\n`, more, ...tables].join('\n'));
  const entry = { url: upstream.url, oauth: { per: 'user', ...options.oauth } };
  mkdirSync(join(workspace.home, '.agents'), { recursive: true });
  writeFileSync(join(workspace.home, '.agents/mcp.json'), JSON.stringify({ mcpServers: { notes: entry } }));
  if (isListed) await listAsMachine(workspace);
  const url = await serveBehindProxy((publicUrl) => ['--trust', '--public-url', publicUrl], workspace);
  const headers = (user: User) => ({ authorization: `Bearer ${user.repeat(12)}` });
  const connect: OwnLogins['connect'] = (user, protocol = 'newer') =>
    connectUrl(url, protocol, undefined, headers(user));
  return {
    workspace,
    login: upstream,
    url,
    headers,
    connect,
    call: async (user, protocol) => {
      const { content } = await callTool(await connect(user, protocol), 'notes_whoami');
      return content.map(({ text = '' }) => text).join('\n');
    },
  };
}

// The person of the machine logs in, as with `wield mcp login`.
async function listAsMachine(workspace: Workspace): Promise<void> {
  const { machine, state } = workspace.toolbox();
  const server = state.upstreams.states()[0]!.server as HttpServer;
  const show = async (url: URL): Promise<void> => {
    url.searchParams.set('account', 'machine');
    const { headers } = await fetch(url, { redirect: 'manual' });
    await fetch(headers.get('location')!);
  };
  const { signal } = new AbortController();
  const directory = toLoginDirectory(machine.wieldHome);
  const { createFetch } = state.network;
  await login(server, { directory, world: machine.world, createFetch, timeoutMs: 30_000, signal, show });
  await state.upstreams.refresh(server);
}

/** Returns the login page that an answer names. */
export function findLink(text: string): URL {
  return new URL(/http:\/\/127\.0\.0\.1:\d+\/login\/[\w-]+/.exec(text)![0]);
}

/** Confirms a login page, logs in with an account, and returns the last page. */
export async function logInAt(link: URL, account: string, browser = createBrowser()): Promise<Response> {
  const confirmed = await browser.open(link, {});
  const page = new URL(confirmed.headers.get('location')!);
  page.searchParams.set('account', account);
  const answered = await browser.open(page);
  return browser.open(new URL(answered.headers.get('location')!));
}
