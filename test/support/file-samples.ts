// Valid documents of each kind of file, with all of their keys.

import type { Json } from '../../src/core/json.js';
import type { FileKind } from './file-verdicts.js';

const HASH = 'a'.repeat(40);
const SERVERS: Record<string, Json> = {
  files: {
    type: 'stdio',
    command: 'npx',
    args: ['-y', 'server'],
    env: { TOKEN: '${TOKEN}' },
    cwd: '${workspaceFolder}',
    sandbox: 'workdir',
    allow: 'get_* list_*',
    deny: ['drop_*'],
    timeout: '30s',
    startTimeout: 20,
    prefix: false,
    disabled: false,
    enabled: true,
  },
  boxed: {
    command: 'server',
    sandboxEnabled: true,
    sandbox: {
      filesystem: { allowWrite: ['./out'], denyRead: ['~/.ssh'], denyWrite: ['/etc/**'] },
      network: { allowedDomains: ['example.com'], deniedDomains: [] },
    },
  },
  web: {
    type: 'http',
    transport: 'streamable-http',
    url: 'https://example.com/mcp',
    headers: { Authorization: 'Bearer ${TOKEN}' },
    oauth: {
      clientId: 'id',
      clientSecret: '${SECRET}',
      scope: 'read',
      issuer: 'https://example.com',
      grant: 'client_credentials',
    },
    tools: ['*'],
  },
  old: { transport: 'sse', type: 'sse', url: 'https://example.com/sse', protocol: '2025-11-25' },
  assertion: {
    url: 'http://127.0.0.1:8080',
    oauth: {
      clientId: 'id',
      issuer: 'https://example.com',
      grant: 'jwt_bearer',
      assertion: 'file:~/token',
      privateKey: 'file:~/key',
    },
  },
};

const CONFIG: Json = {
  $schema: './config.json',
  repair: true,
  'allowed-tools': '* #destructive($deny)',
  mode: 'auto',
  trust: { rules: ['* #destructive($policy=ask)'] },
  profiles: { review: { tools: 'get_*', rules: ['* #destructive($deny)'], mode: 'all' } },
  limits: { timeout: '1m', output: '4M', concurrent: 3, queue: 10, listing: 2.5 },
  results: { inline: 2000, keep: '1 h', total: '2GiB', schemas: false },
  code: { calls: 10, cpu: '500ms', memory: 1_000_000 },
  env: { pass: ['LANG', 'LC_*'] },
  skills: { 'allow-scripts': true, contextMode: 'full' },
  tools: {
    hello: {
      timeout: '5s',
      env: { pass: ['A'] },
      runOn: 'gpu',
      name: 'hi',
      description: 'Hi',
      hide: ['b'],
      fixed: { b: 1 },
    },
  },
  builtin: { offer: ['read_skill'] },
  paths: ['...', './skills', { external: '~/lib' }, { ignore: '**/old' }],
  workdir: { roots: ['~/code'] },
  install: { homes: ['~/.claude'] },
  audit: { contents: true, required: true, rotate: '1M', keep: 3 },
  middleware: [
    { use: 'retry', for: 'crm_*', attempts: 2, wait: '1s', 'max-wait': 5, 'assume-idempotent': false },
    { use: 'cache', for: ['a', 'b'], 'max-age': '1m', 'max-entries': 5, 'max-bytes': '1M' },
    { use: 'rate-limit', calls: 3, every: '1m', per: 'tool', 'max-wait': '1s' },
  ],
  sandbox: {
    build: { read: ['~/lib'], write: ['./out'], deny: ['~/.ssh'], network: false, env: ['LANG', 'LC_*'] },
    rules: [{ match: 'make_*', profile: 'build', required: true }],
  },
  openapi: {
    crm: { spec: 'crm.json', server: 'https://api.example.com/v1', include: ['get*'], exclude: [], auth: '${CRM}' },
    other: { server: 'HTTP://a.b', auth: { key: 'file:~/key' } },
  },
  tasks: { from: ['package.json'], include: ['build*'], exclude: ['x'] },
  mcpServers: SERVERS,
  mcp: { servers: [{ name: 'x', command: 'x' }], disabled: ['y'] },
  model: { provider: 'openai', name: 'x', url: 'http://127.0.0.1:1', key: 'KEY' },
};

const MAPPINGS: Json[] = [
  { param: 'text', kind: 'positional', allowDash: true, split: false, normalizeNewlines: true, absentDefault: 3 },
  { param: 'in', kind: 'STDIN' },
  { kind: 'literal', value: '' },
  { param: 'all', kind: 'flagIfBoolean', flagIfTrue: '--all', flagIfFalse: '--some', subcommandOverride: 'list' },
  { param: 'body', kind: 'envvar', envVar: 'NOTES_BODY' },
  { param: 'file', readPath: true, writePath: false, unsafePath: false, optional: true, flag: 'f' },
  {
    param: 'id',
    resolveCommand: { script: 'find.sh', binary: 'notes', subcommand: 'list', args: ['$param'], onFailure: 'keep' },
    denyPattern: '^x',
    denyResolveCommand: { binary: 'notes', subcommand: 'list' },
    denyAlwaysResolve: true,
    disambiguateAfterSkippedPositionals: null,
  },
];
const TOOLS: Json[] = [
  {
    name: 'notes',
    description: 'Notes',
    parameters: { type: 'object' },
    sandbox: 'workdir',
    requires: { bins: ['jq'], env: ['TOKEN'] },
    background: false,
  },
  { name: 'ns:other' },
];

/** Valid documents. */
export const SAMPLES: Readonly<Record<FileKind, readonly Json[]>> = {
  config: [
    CONFIG,
    {
      sandbox: [
        { match: ['a'], profile: 'own', own: { write: ['./a'] } },
        { match: 'b', profile: 'workdir' },
      ],
    },
    { middleware: { use: 'cache' }, mcp: { servers: { name: 'a', url: 'https://a.b' } } },
  ],
  tools: [
    TOOLS,
    {
      $schema: './tools.json',
      tools: TOOLS,
      allowlist: { notes: ['search', 'list'], jq: [''] },
      execution: [
        {
          tool: 'notes',
          binary: 'notes',
          subcommand: 'search',
          args: MAPPINGS,
          endOfOptions: true,
          paramCondition: { present: ['text'], absent: null },
          condition: { binGroup: 1 },
          successExitCodes: [0, 1],
          maxOutputLines: 5,
          truncationHint: 'more',
          hintConditions: [
            { hint: 'a', match: 'x' },
            { hint: 'b', exitCode: 'nonzero' },
            { hint: 'c', exitCode: -1, notEmpty: true },
            { hint: 'd', whenArg: { text: 'x' } },
          ],
          postProcess: { binary: 'jq', subcommand: '', args: ['.'], emptyIsResult: true },
          binaryWrapper: ['nice', '-n', '5'],
          sideRead: { pathParam: 'file', filename: 'NOTES.md', label: 'Notes', oncePerSession: true },
        },
        { tool: 'ns:other', binary: 'jq', subcommand: '' },
      ],
    },
  ],
  skill: [
    {
      name: 'weather',
      description: 'Weather',
      license: 'MIT',
      'allowed-tools': 'Read Bash(git:*)',
      metadata: {
        tags: ['a', 2],
        visibility: 'hidden',
        params: { city: { type: 'string', required: true }, days: 'integer' },
        delegate: 'tool',
        $inherit: ['base'],
        timeout: '30s',
        trust: { rules: ['#destructive($policy=ask)'] },
        middleware: [{ use: 'rate-limit', calls: 3, every: '1m' }],
        paths: ['./tools', { ignore: 'old' }],
        requires: { bins: [['jq'], ['rg', 'sed']], python: '>=3.10, <4', node: 20, config: ['a.b'] },
        author: 'someone',
      },
    },
    {
      name: 'Two words',
      description: 'x',
      allowedTools: ['Read'],
      trust: { rules: '*' },
      requires: { bins: 'jq', anyBins: ['rg', 'grep'], env: ['TOKEN'], python: true, node: null },
      metadata: {
        tags: 'a, b',
        params: { type: 'object', properties: { a: {} }, required: ['a'] },
        delegate: { code: 'return 1' },
        $inherit: false,
        timeout: 5,
        middleware: { use: 'rate-limit', calls: 1 },
        paths: './tools',
      },
    },
  ],
  mcp: [
    { $schema: './mcp.json', mcpServers: SERVERS, inputs: [] },
    { servers: { one: { command: 'one', sandboxEnabled: true } }, sandbox: { network: {} } },
  ],
  lock: [
    {
      $schema: './lock.json',
      version: 1,
      sources: [
        {
          id: 'github.com/a/b',
          kind: 'git',
          location: 'https://github.com/a/b',
          commit: HASH,
          prefix: 'team',
          prefixGiven: true,
          roots: ['packages/a'],
          addRoots: null,
          adoption: {
            roots: ['a'],
            addRoots: [],
            hooks: [{ run: 'make', name: null, event: 'install' }],
            plugins: [{ name: 'plug.in', description: null, path: 'p', strict: true, components: {} }],
          },
          pin: { to: 'tag', name: 'v1' },
          pinGiven: false,
          parent: null,
          items: [
            {
              kind: 'skill',
              name: 'a',
              plugin: null,
              effective: 'team:a',
              commit: HASH,
              sourceHash: 'x',
              installedHash: 'y',
              builtHash: null,
            },
          ],
        },
        { id: 'local', kind: 'local', location: './b', commit: null, items: [] },
      ],
    },
  ],
  recording: [
    { type: 'recording', version: 1, $schema: './recording.json' },
    { type: 'tool', name: 'a', description: 'b', input: { type: 'object' } },
    {
      type: 'call',
      call: '1',
      tool: 'a',
      input: null,
      result: {
        ok: true,
        meta: {},
        content: [
          { type: 'text', text: 'x', annotations: {} },
          { type: 'image', data: 'x', mimeType: 'image/png' },
          { type: 'resource_link', uri: 'a:b', name: 'c' },
          { type: 'resource', resource: { uri: 'a:b', text: 'x', blob: 3 } },
        ],
      },
    },
    {
      type: 'call',
      call: '2',
      tool: 'a',
      input: {},
      result: { ok: false, meta: {}, content: [], error: { code: 'timeout', message: 'm' } },
    },
  ],
};
