// Secrets of logins, of all tools, of the proxy and of the fleet are searched wherever they could be shown, stored or inherited.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  type Canaries,
  createCanary,
  createSearch,
  createVault,
  KINDS,
  refer,
  type Search,
  searchFiles,
  searchProcesses,
} from '../support/canaries.js';
import { wield } from '../support/cli.js';
import { startHere } from '../support/fleet.js';
import { listen, sendJson } from '../support/http.js';
import { startLoginServer } from '../support/login-server.js';
import { openPage } from '../support/page.js';
import { hasRedis, NO_REDIS, startRedis } from '../support/redis.js';
import { serveHere } from '../support/serve.js';
import { spec, specIf } from '../support/spec.js';
import { trustNow } from '../support/trusted.js';
import { createUpstreamWorkspace, type UpstreamWorkspace } from '../support/upstream-workspace.js';

const random = (): string => randomBytes(18).toString('base64url');

function createCanaries(): Canaries {
  return Object.fromEntries(
    KINDS.flatMap((kind) => [
      [`env_${kind}`, createCanary()],
      [`oauth_${kind}`, random()],
      [`proxy_${kind}`, `${random()}:${createCanary()}`],
    ]),
  );
}

const SHOW = [
  `for name in ${KINDS.map((kind) => `SHARED_${kind.toUpperCase()}`).join(' ')}; do`,
  '  eval "value=\\$$name"; echo "$name $value"; echo "fails with $value" >&2',
  '  printf "Bearer %s" "$value" | base64 -w0; echo; printf %s "$value" | od -An -tx1 | tr -d " \\n"; echo',
  'done',
  'exit 3',
].join('\n');

/** A login server that refuses every client, and repeats its secret. */
async function startRepeating(): Promise<string> {
  const server = await listen((request, response) => {
    if (request.url !== '/token')
      return sendJson(response, {
        issuer: server.origin,
        token_endpoint: `${server.origin}/token`,
        authorization_endpoint: `${server.origin}/authorize`,
        response_types_supported: ['code'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      });
    const { authorization = '' } = request.headers;
    const plain = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString();
    sendJson(response, { error: 'invalid_client', error_description: `${authorization} ${plain}` }, 401);
  });
  return server.origin;
}

/** A proxy that answers by itself, with the credentials that it got. */
async function startProxy() {
  const seen: string[] = [];
  const server = await listen((request, response) => {
    const given = request.headers['proxy-authorization'] ?? '';
    const plain = Buffer.from(given.replace(/^Basic /, ''), 'base64').toString();
    seen.push(plain);
    sendJson(response, { given, plain }, request.url!.endsWith('/refuse') ? 407 : 200);
  });
  return { origin: server.origin, seen };
}

interface Setting {
  readonly workspace: UpstreamWorkspace;
  readonly search: Search;
  /** Sets the configuration, with the credentials of the proxy from this kind of reference. */
  configure(kind: string): void;
}

async function createSetting(canaries: Canaries, proxy: string): Promise<Setting> {
  const workspace = createUpstreamWorkspace();
  const vault = createVault(workspace, canaries);
  const of = (name: string) => refer(name, vault);
  const clients = Object.fromEntries(KINDS.map((kind) => [`oauth_${kind}`, { secret: canaries[`oauth_${kind}`]! }]));
  const { url, issuer } = await startLoginServer({ clients, registration: false });
  const repeating = await startRepeating();
  const refusing = await startLoginServer({ namedIssuer: repeating });
  const entry = (kind: string, login: string, at = url): object => ({
    more: {
      ...{ command: undefined, args: undefined, url: at },
      oauth: {
        ...{ grant: 'client_credentials', issuer: login, clientId: `oauth_${kind}` },
        clientSecret: of(`oauth_${kind}`).json,
      },
    },
  });
  const logins = Object.fromEntries(KINDS.map((kind) => [`notes-${kind}`, entry(kind, issuer)]));
  workspace.servers({
    ...logins,
    broken: entry('command', repeating, refusing.url),
    spy: { mode: 'well' },
  } as Parameters<UpstreamWorkspace['servers']>[0]);
  const operation = (operationId: string) => ({ get: { operationId, summary: 'Ask.', responses: {} } });
  const document = {
    openapi: '3.1.0',
    info: { title: 'A', version: '1' },
    paths: { '/ask': operation('ask_api'), '/refuse': operation('refuse_api') },
  };
  workspace.write('.agents/tools/api.openapi.json', JSON.stringify(document));
  workspace.script('deploy', `#!/bin/sh\n# @description Does it.\n${SHOW}\n`);
  const shared = KINDS.map((kind) => `SHARED_${kind.toUpperCase()} = ${of(`env_${kind}`).toml}`).join('\n');
  trustNow(workspace);
  return {
    workspace,
    search: createSearch(canaries),
    configure: (kind) =>
      workspace.config(
        `[env]\n${shared}\n[net]\nproxy = "${proxy}"\nproxy-auth = ${of(`proxy_${kind}`).toml}\n[openapi.api]\nserver = "http://api.test"\n`,
      ),
  };
}

const VERBS: readonly (readonly string[])[] = [
  ...[['list', '--all'], ['show', 'deploy'], ['show', 'notes-file_whoami'], ['doctor'], ['config'], ['check']],
  ...[['explain', 'deploy'], ['explain', 'ask_api'], ['mcp'], ['mcp', 'refresh', 'notes-command'], ['audit']],
  ...[
    ['call', 'broken_whoami'],
    ['mcp', 'login', 'broken'],
    ['mcp', 'login', 'notes-file'],
  ],
  ...[
    ['call', 'ask_api'],
    ['call', 'refuse_api'],
    ['call', 'ask_api', '--dry-run'],
    ['call', 'deploy', '--dry-run'],
  ],
  ...[
    ['call', 'spy_environment', '--name', 'PATH'],
    ['secrets', 'list'],
    ['mcp', 'logout', 'notes-file'],
  ],
];

async function searchVerb({ workspace, search }: Setting, verb: readonly string[]): Promise<void> {
  for (const [args, env] of [
    [verb, {}],
    [[...verb, '--json'], {}],
    [[...verb, '--verbose'], { WIELD_LOG: 'debug' }],
  ] as const) {
    const { stdout, stderr } = await wield(workspace, args, { env });
    search.look(`stdout of ${args.join(' ')}`, stdout);
    search.look(`stderr of ${args.join(' ')}`, stderr);
  }
}

spec(
  'SEC-8',
  'secrets of logins, of all tools and of the proxy are nowhere else',
  async () => {
    const canaries = createCanaries();
    const proxy = await startProxy();
    const setting = await createSetting(canaries, proxy.origin);
    const { workspace, search } = setting;
    for (const kind of KINDS) {
      setting.configure(kind);
      await searchVerb(setting, ['call', 'ask_api']);
      const { stdout } = await wield(workspace, ['call', `notes-${kind}_whoami`]);
      expect(stdout).toBe('hello\n');
    }
    for (const verb of VERBS) await searchVerb(setting, verb);
    const server = serveHere(workspace, { args: [], env: { WIELD_LOG: 'debug' } });
    await server.initialize();
    for (const name of ['deploy', 'ask_api', 'refuse_api', 'broken_whoami', 'notes-keychain_whoami'])
      await server.request(name, 'tools/call', { name, arguments: {} });
    await server.request('spy', 'tools/call', { name: 'spy_echo', arguments: { text: 'x' } });
    const answers = server.lines.join('\n');
    // Everything that could leak did run.
    for (const sign of ['SHARED_KEYCHAIN [redacted]', 'hello', 'invalid_client', 'Basic [redacted]'])
      expect([sign, answers.includes(sign)]).toEqual([sign, true]);
    for (const [at, line] of server.lines.entries()) search.look(`line ${at} of wield serve`, line);
    search.look('the log of wield serve', server.stderr());
    searchProcesses(workspace.starts('spy'), search);
    expect(await server.close()).toBe(0);
    const page = await openPage(workspace);
    for (const path of ['session', 'catalog/person', 'calls', 'servers', 'health', 'settings', 'tools/deploy'])
      search.look(`GET /api/${path}`, (await page.get(`/api/${path}`)).text);
    search.look('stderr of wield ui', page.stderr());
    await page.stop();
    searchFiles(workspace, search);
    expect(search.found).toEqual([]);
    expect(search.places.size).toBeGreaterThan(200);
    // Each secret arrived where it was meant to be; those of servers let them answer.
    for (const kind of KINDS) expect(proxy.seen).toContain(canaries[`proxy_${kind}`]);
    const { stdout } = await wield(workspace, ['call', 'deploy']);
    for (const kind of KINDS) expect(stdout).toContain(canaries[`env_${kind}`]);
  },
  240_000,
);

specIf(
  hasRedis,
  NO_REDIS,
  'SEC-8 SEC-7',
  'the key of a fleet is nowhere else',
  async () => {
    const redis = await startRedis();
    const canaries = Object.fromEntries(KINDS.map((kind) => [`fleet_${kind}`, randomBytes(32).toString('hex')]));
    for (const kind of KINDS) {
      const workspace = createUpstreamWorkspace();
      const vault = createVault(workspace, canaries);
      workspace.servers({ spy: { mode: 'well' } });
      workspace.script('spy', '#!/bin/sh\n# @description Does it.\nenv > seen; echo done\n');
      trustNow(workspace);
      const search = createSearch(canaries);
      const { json } = refer(`fleet_${kind}`, vault);
      const key = typeof json === 'string' ? json : `cmd:${JSON.stringify((json as { cmd: unknown }).cmd)}`;
      workspace.env.WIELD_FLEET_KEY = key;
      // Else the person gave it to the command itself.
      if (kind === 'variable') workspace.env.WIELD_FLEET_KEY = canaries.fleet_variable!;
      const setting = { workspace, search, configure: () => {} };
      const worker = await startHere(workspace, ['worker', '--fleet', redis.url]);
      for (const verb of [['fleet', 'status', '--fleet', redis.url], ['doctor'], ['config'], ['call', 'spy']])
        await searchVerb(setting, verb);
      await searchVerb(setting, ['call', 'spy_echo', '--text', 'x']);
      expect(readFileSync(join(workspace.dir, 'seen'), 'utf8')).toContain('WIELD_TOOL_NAME=');
      for (const name of redis.command('keys', '*').split('\n').filter(Boolean)) {
        search.look(`the name ${name} in Redis`, name);
        search.look(`${name} in Redis`, redis.command('dump', name));
      }
      search.look('the log of a worker', worker.stderr());
      searchProcesses(workspace.starts('spy'), search);
      await worker.stop();
      searchFiles(workspace, search);
      expect(search.found).toEqual([]);
    }
  },
  240_000,
);
