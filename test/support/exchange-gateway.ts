// A gateway whose identity provider exchanges the tokens of its users for those of a server behind it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callTool, connectUrl } from './clients.js';
import { createProvider, type IdentityProvider } from './identity-provider.js';
import { type LoginServer, type LoginServerOptions, startLoginServer, subjectOf } from './login-server.js';
import { serveUrl } from './serve.js';
import { createWorkspace, type Workspace } from './workspace.js';

export interface ExchangeGateway {
  readonly provider: IdentityProvider;
  readonly login: LoginServer;
  readonly workspace: Workspace;
  readonly url: string;
  /** Calls the tool of the server behind as a user, and returns its text. */
  call(user: string): Promise<string>;
}

const PUBLIC_URL = 'https://wield.example.com/mcp';

/** `change` changes the table `oauth` of the entry. */
export async function startExchange(
  grant: 'token_exchange' | 'id_jag',
  change: (oauth: Record<string, unknown>) => object = (oauth) => oauth,
  options: LoginServerOptions & { readonly owner?: 'user' | 'project' } = {},
): Promise<ExchangeGateway> {
  const provider = await createProvider(PUBLIC_URL);
  const isExchange = grant === 'token_exchange';
  const login = await startLoginServer({
    clients: { wield: { secret: 'as-secret' } },
    registration: false,
    ...(isExchange ? { namedIssuer: provider.issuer } : {}),
    // An access token for this server, and nothing else.
    ...options,
    accepts: (token) => (isFor(token, login.url) ? subjectOf(token) : undefined),
  });
  const workspace = createWorkspace();
  workspace.config(`[trust]\nrules = ["notes.*($policy=allow)"]\n[serve.auth]\nissuer = "${provider.issuer}"\n`);
  const idp = { issuer: provider.issuer, clientId: 'gateway', clientSecret: 'idp-secret' };
  const own = isExchange ? {} : { clientId: 'wield', clientSecret: 'as-secret', issuer: login.issuer };
  const oauth = change({ grant, idp, ...own });
  const directory = join(options.owner === 'project' ? workspace.dir : workspace.home, '.agents');
  mkdirSync(directory, { recursive: true });
  const entry = { url: login.url, oauth };
  writeFileSync(join(directory, 'mcp.json'), JSON.stringify({ mcpServers: { notes: entry } }));
  const url = await serveUrl(workspace, ['--trust', '--public-url', PUBLIC_URL]);
  return {
    provider,
    login,
    workspace,
    url,
    call: async (user) => {
      const authorization = `Bearer ${await provider.sign({ sub: user })}`;
      const client = await connectUrl(url, 'newer', undefined, { authorization });
      const { content } = await callTool(client, 'notes_whoami');
      return content.map(({ text = '' }) => text).join('\n');
    },
  };
}

function isFor(token: string, audience: string): boolean {
  const [, payload = ''] = token.split('.');
  return payload !== '' && JSON.parse(Buffer.from(payload, 'base64url').toString()).aud === audience;
}
