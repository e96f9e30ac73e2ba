// Secrets of every kind of reference are searched, in all encodings, wherever they could be shown, stored or inherited.

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
import { listen } from '../support/http.js';
import { openPage, type Page } from '../support/page.js';
import { serveHere } from '../support/serve.js';
import { spec } from '../support/spec.js';
import { trustNow } from '../support/trusted.js';
import { createUpstreamWorkspace, type UpstreamWorkspace } from '../support/upstream-workspace.js';

/** What uses secrets: a server, a header, a tool or an API. */
const USERS = ['server', 'header', 'tool', 'api'] as const;
const NAMES = USERS.flatMap((user) => KINDS.map((kind) => `${user}_${kind}`));

const createCanaries = (): Canaries => Object.fromEntries(NAMES.map((name) => [name, createCanary()]));

const SPY = 'env > "$(dirname "$0")/../../seen-by-$(basename "$0")"';
const SHOW = [
  'for name in TOKEN_VARIABLE TOKEN_FILE TOKEN_COMMAND TOKEN_KEYCHAIN; do',
  '  eval "value=\\$$name"; echo "$name $value"; echo "fails with $value" >&2',
  '  for form in "$value" "Bearer $value"; do',
  '    printf %s "$form" | base64 -w0; echo; printf %s "$form" | od -An -tx1 | tr -d " \\n"; echo',
  '  done',
  'done',
].join('\n');
const script = (text: string, ...tags: readonly string[]): string =>
  ['#!/bin/sh', '# @description Does it.', ...tags.map((tag) => `# ${tag}`), text, ''].join('\n');

/** Creates a workspace where everything that can use a secret uses one of each kind. */
function createCanaryWorkspace(canaries: Canaries, origin: string): UpstreamWorkspace & { readonly vault: string } {
  const workspace = createUpstreamWorkspace();
  const vault = createVault(workspace, canaries);
  const of = (user: string, kind: string) => refer(`${user}_${kind}`, vault);
  const far = {
    mode: 'leaks',
    env: {
      VARIABLE: of('server', 'variable').json,
      FROM_FILE: of('server', 'file').json,
      API_KEY: of('server', 'command').json,
      HEADER: 'Bearer ${keychain:server_keychain}',
    },
  };
  const headers = Object.fromEntries(KINDS.map((kind) => [`X-${kind}`, of('header', kind).json]));
  const web = { more: { command: undefined, args: undefined, env: undefined, url: `${origin}/mcp`, headers } };
  workspace.servers({ far, web, spy: { mode: 'well' }, broken: { ...far, mode: 'leaks-and-exits' } });
  const granted = KINDS.map((kind) => `TOKEN_${kind.toUpperCase()} = ${of('tool', kind).toml}`).join('\n');
  const tables = ['deploy', 'ask', 'dev', 'large'].map((tool) => `[tools.${tool}.env]\n${granted}\n`);
  const auth = KINDS.map((kind) => `${kind} = ${of('api', kind).toml}`).join(', ');
  workspace.config(
    `${tables.join('')}[openapi.api]\nserver = "${origin}"\nauth = { ${auth} }\n[results]\ninline = 2000\n[builtin]\noffer = ["run_code"]\n`,
  );
  const schemes = KINDS.map((kind) => [
    kind,
    { type: 'apiKey', in: kind === 'file' ? 'query' : 'header', name: `x-${kind}` },
  ]);
  const document = {
    openapi: '3.1.0',
    info: { title: 'A', version: '1' },
    paths: { '/x': { get: { operationId: 'ask_api', summary: 'Ask.', responses: {} } } },
    components: { securitySchemes: Object.fromEntries(schemes) },
    security: [Object.fromEntries(KINDS.map((kind) => [kind, []]))],
  };
  workspace.write('.agents/tools/api.openapi.json', JSON.stringify(document));
  workspace.script('deploy', script(`${SHOW}\nexit 3`));
  workspace.script('ask', script(SHOW, '@destructive'));
  workspace.script('dev', script(`${SHOW}\nsleep 60`, '@background'));
  workspace.script(
    'large',
    script(`i=0; while [ $i -lt 12 ]; do ${SHOW.replaceAll('\n', '; ').replaceAll('do;', 'do')}; i=$((i+1)); done`),
  );
  workspace.script('spy', script(SPY));
  trustNow(workspace);
  return { ...workspace, vault };
}

const VERBS: readonly (readonly string[])[] = [
  ...[['list', '--all'], ['show', 'far_leak'], ['show', 'deploy'], ['show', 'ask_api'], ['search', 'leak'], ['doctor']],
  ...[['config'], ['check'], ['explain', 'far_leak'], ['explain', 'deploy'], ['explain', 'ask_api'], ['tokens']],
  ...[['mcp'], ['mcp', 'list'], ['mcp', 'refresh', 'far'], ['call', 'far_leak'], ['call', 'far_structured']],
  ...[
    ['call', 'far_error'],
    ['call', 'far_refuse'],
    ['call', 'far_die'],
    ['call', 'far_split'],
    ['call', 'web_x'],
  ],
  ...[
    ['call', 'broken_leak'],
    ['call', 'ask_api'],
    ['call', 'deploy', '--dry-run'],
    ['call', 'ask_api', '--dry-run'],
  ],
  ...[
    ['call', 'spy'],
    ['call', 'spy_environment', '--name', 'PATH'],
    ['approvals'],
    ['audit'],
    ['background'],
    ['hooks'],
  ],
  ...[['capabilities'], ['secrets', 'list'], ['verify'], ['trust', '--dry-run'], ['connect', 'cursor', '--dry-run']],
];

/** Runs every verb as a person does: with text, as JSON, and with the debug log. */
async function searchVerbs(workspace: UpstreamWorkspace, { look, canaries }: Search): Promise<void> {
  for (const verb of VERBS)
    for (const [args, env] of [
      [verb, {}],
      [[...verb, '--json'], {}],
      [[...verb, '--verbose'], { WIELD_LOG: 'debug' }],
    ] as const) {
      const { stdout, stderr } = await wield(workspace, args, { env });
      look(`stdout of ${args.join(' ')}`, stdout);
      look(`stderr of ${args.join(' ')}`, stderr);
    }
  // A person sees what a script prints, and nobody else does.
  const { stdout, stderr } = await wield(workspace, ['call', 'large', '--verbose'], { env: { WIELD_LOG: 'debug' } });
  look('the debug log of a script', stderr.replaceAll(/^fails with .*$/gm, ''));
  for (const name of NAMES.filter((one) => one.startsWith('tool'))) expect(stdout.includes(canaries[name]!)).toBe(true);
  for (const tool of ['far_leak', 'large', 'ask_api'])
    await wield(workspace, ['record', `${tool}.ndjson`, 'call', tool]);
}

/** Calls everything as a model, and lets calls wait for an approval. */
async function searchServer(workspace: UpstreamWorkspace, { look }: Search): Promise<void> {
  const server = serveHere(workspace, { args: [], env: { WIELD_LOG: 'debug' } });
  await server.initialize();
  const calls = [
    'far_leak',
    'far_structured',
    'far_error',
    'far_refuse',
    'far_progress',
    'far_die',
    'far_split',
    'web_x',
  ];
  for (const name of ['large', ...calls, 'ask_api', 'deploy', 'ask', 'dev', 'spy'])
    await server.request(name, 'tools/call', { name, arguments: {}, _meta: { progressToken: name } });
  const code = 'const a = await tools.large({}); await tools.ask({}); return a;';
  await server.request('code', 'tools/call', { name: 'run_code', arguments: { code } });
  for (const method of ['tools/list', 'resources/list', 'prompts/list']) await server.request(method, method);
  await server.request('background', 'tools/call', { name: 'read_background', arguments: {} });
  const answers = server.lines.join('\n');
  // Everything that could leak did run: results with secrets, a stored one, a background process, calls and a program that wait.
  for (const sign of [
    'TOKEN_KEYCHAIN [redacted]',
    'stored as r_',
    'in the background as b_',
    'approvals approve',
    'p_',
  ])
    expect([sign, answers.includes(sign)]).toEqual([sign, true]);
  for (const [at, line] of server.lines.entries()) look(`line ${at} of wield serve`, line);
  look('the log of wield serve', server.stderr());
  searchProcesses(workspace.starts('spy'), { look });
  expect(await server.close()).toBe(0);
}

const MODEL = { kind: 'model', door: 'mcp' };

async function searchPage(page: Page, { look }: Search): Promise<void> {
  const tools = ['far_leak', 'deploy', 'ask_api'];
  const gets = ['session', 'catalog/model', 'catalog/person', 'approvals', 'calls', 'recording', 'changes', 'tokens'];
  const ofTools = tools.flatMap((tool) => [`tools/${tool}`, `tools/${tool}/sent/anthropic`]);
  for (const path of [...gets, 'servers', 'health', 'settings', ...ofTools])
    look(`GET /api/${path}`, (await page.get(`/api/${path}`)).text);
  for (const tool of tools) {
    const planned = await page.post('/api/plan', { tool, input: {} });
    look(`POST /api/plan of ${tool}`, planned.text);
    look(`POST /api/explain of ${tool}`, (await page.post('/api/explain', { tool, input: {}, caller: MODEL })).text);
    // A person sees what a script prints.
    const { text } = await page.post('/api/run', { tool, input: {}, digest: planned.json.digest });
    expect(text).toContain('"result"');
    if (tool !== 'deploy') look(`POST /api/run of ${tool}`, text);
  }
  look('the recording of the page', (await page.get('/api/recording')).text);
  look('stderr of wield ui', page.stderr());
}

spec(
  'SEC-8',
  'secrets are in no output, file, page, message or process that they are not for',
  async () => {
    const canaries = createCanaries();
    const search = createSearch(canaries);
    const seen: string[] = [];
    const { origin } = await listen((request, response) => {
      const values = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
      seen.push(`${decodeURIComponent(request.url ?? '')} ${values.join(' ')}`);
      const body = JSON.stringify({ url: request.url, values, encoded: values.map((one) => btoa(one)) });
      response.writeHead(request.url?.startsWith('/mcp') ? 500 : 200, { 'content-type': 'application/json' });
      response.end(body);
    });
    const workspace = createCanaryWorkspace(canaries, origin);
    await searchVerbs(workspace, search);
    await searchServer(workspace, search);
    const page = await openPage(workspace);
    await searchPage(page, search);
    await page.stop();
    searchFiles(workspace, search);
    expect(search.found).toEqual([]);
    // Each secret arrived where it was meant to be.
    for (const name of NAMES.filter((one) => /^(?:header|api)/.test(one)))
      expect(seen.join('\n')).toContain(canaries[name]);
    expect(search.places.size).toBeGreaterThan(200);
  },
  240_000,
);
