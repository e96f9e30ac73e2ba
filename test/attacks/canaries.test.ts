// Secrets of every kind of reference are searched, in all encodings, wherever they could be shown, stored or inherited.

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { wield } from '../support/cli.js';
import { listen } from '../support/http.js';
import { openPage, type Page } from '../support/page.js';
import { serveHere } from '../support/serve.js';
import { spec } from '../support/spec.js';
import { trustNow } from '../support/trusted.js';
import { createUpstreamWorkspace, type UpstreamWorkspace } from '../support/upstream-workspace.js';

/** Where each secret comes from: a variable, a file, a command or the keychain; for a server, a header, a tool or an API. */
const KINDS = ['variable', 'file', 'command', 'keychain'] as const;
const USERS = ['server', 'header', 'tool', 'api'] as const;
const NAMES = USERS.flatMap((user) => KINDS.map((kind) => `${user}_${kind}`));

type Canaries = Readonly<Record<string, string>>;

// With characters that every encoding changes, and random in every part.
const createCanaries = (): Canaries => {
  const random = (): string => randomBytes(9).toString('base64url');
  return Object.fromEntries(NAMES.map((name) => [name, `${random()}"/+&=% ${random()}`]));
};

/**
 * Returns what is searched: both halves of a secret as it is, in JSON, in a URL, in hexadecimal, and in Base64 after anything.
 * A half is what is left of a secret that was cut before it was redacted.
 */
function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const hex = Buffer.from(secret).toString('hex');
  const base64 = ['', 'x', 'xx'].map((before) => {
    const text = Buffer.from(before + secret).toString('base64url');
    // Without the characters that depend on what is around the secret.
    return text.slice(before === '' ? 0 : before.length + 1, -2);
  });
  const forms = [secret, inJson, encodeURIComponent(secret), hex, hex.toUpperCase(), ...base64];
  return forms.flatMap((form) => [form.slice(0, form.length / 2), form.slice(form.length / 2)]);
}

/** Collects the places that were searched, and what was found in them. */
function createSearch(canaries: Canaries) {
  const forms = Object.entries(canaries).map(([name, secret]) => [name, formsOf(secret)] as const);
  const places = new Set<string>();
  const found: string[] = [];
  return {
    canaries,
    places,
    found,
    /** Searches a text; `mayHave` are the secrets that belong there. */
    look(place: string, text: string, mayHave: (name: string) => boolean = () => false): void {
      places.add(place);
      const plain = text.replaceAll('+', '-').replaceAll('/', '_');
      for (const [name, all] of forms)
        for (const [at, form] of all.entries())
          if (!mayHave(name) && (text.includes(form) || (at > 9 && plain.includes(form))))
            found.push(`${name} in ${place}, form ${at}`);
    },
  };
}

type Search = ReturnType<typeof createSearch>;

/** Returns the reference to a secret of this kind. */
function refer(name: string, vault: string): { readonly json: unknown; readonly toml: string } {
  if (name.endsWith('command')) return { json: { cmd: ['vault', name] }, toml: `{ cmd = ["vault", "${name}"] }` };
  const text = name.endsWith('variable')
    ? `\${CANARY_${name}}`
    : name.endsWith('file')
      ? `file:${vault}/${name}`
      : `keychain:${name}`;
  return { json: text, toml: JSON.stringify(text) };
}

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
  const vault = join(workspace.home, '..', 'vault');
  const bin = join(workspace.home, '..', 'bin');
  for (const directory of [vault, bin]) mkdirSync(directory);
  for (const [name, secret] of Object.entries(canaries)) writeFileSync(join(vault, name), `${secret}\n`);
  // Both password managers print the secret that their last argument names.
  for (const name of ['vault', 'secret-tool']) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nfor last; do :; done\nenv > "${bin}/$last.seen"\ncat "${vault}/$last"\n`,
    );
    chmodSync(join(bin, name), 0o755);
  }
  const variables = NAMES.filter((name) => name.endsWith('variable')).map((name) => [
    `CANARY_${name}`,
    canaries[name]!,
  ]);
  Object.assign(workspace.env, { PATH: `${bin}:${workspace.env.PATH}`, ...Object.fromEntries(variables) });
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
  searchProcesses(workspace, { look });
  expect(await server.close()).toBe(0);
}

/** Command lines and names, which core dumps are called by, of all processes, and the environments of those without secrets. */
function searchProcesses(workspace: UpstreamWorkspace, { look }: Pick<Search, 'look'>): void {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  };
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const file of ['cmdline', 'comm', 'stat'])
    look(`/proc/*/${file}`, pids.map((pid) => read(`/proc/${pid}/${file}`)).join('\n'));
  for (const pid of workspace.starts('spy')) look('the environment of another server', read(`/proc/${pid}/environ`));
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

/** Every file below the home and the project, with its name. */
function searchFiles(workspace: UpstreamWorkspace, { look }: Search): void {
  for (const root of [workspace.home, workspace.dir, join(workspace.home, '../bin')])
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      look(`the name of ${path}`, path);
      // The commands of a person have the variables of that person.
      const mayHave = path.endsWith('.seen') ? (name: string) => name.endsWith('variable') : undefined;
      if (entry.isFile()) look(path, readFileSync(path, 'latin1'), mayHave);
    }
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
