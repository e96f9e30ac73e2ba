// Tests of `wield mcp import`: importing servers of other clients.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { CLIENT_FILES, fixtureOf, SEEDED, writeClientFile } from '../../support/client-files.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const destination = (workspace: Workspace): string => join(workspace.home, '.agents/mcp.json');
const readWritten = (workspace: Workspace) => JSON.parse(readFileSync(destination(workspace), 'utf8')).mcpServers;
const secretsOf = (workspace: Workspace): string => join(workspace.env.WIELD_HOME!, 'secrets');

/** Imports the servers of a client and returns the written entries. */
async function importAll(client: string, scope: 'project' | 'user', args: string[] = []) {
  const workspace = createWorkspace();
  writeClientFile(workspace, fixtureOf(client, scope));
  const run = await wield(workspace, ['mcp', 'import', client, '--unpinned', '--yes', '--json', ...args]);
  const document = json(run);
  const notes = Object.fromEntries(
    document.servers.map((one: { name: string; notes: string[] }) => [one.name, one.notes]),
  );
  return {
    workspace,
    document,
    notes,
    written: existsSync(destination(workspace)) ? readWritten(workspace) : {},
  };
}

const file = (workspace: Workspace, name: string): string => join(secretsOf(workspace), name);

describe('clients', () => {
  spec('UPS-7', 'claude-code: servers, a variable with a default, and a reason for skipped servers', async () => {
    const { workspace, written, document, notes } = await importAll('claude-code', 'user');
    expect(written).toEqual({
      github: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-github'],
        env: {
          GITHUB_PERSONAL_ACCESS_TOKEN: `file:${file(workspace, 'github.GITHUB_PERSONAL_ACCESS_TOKEN')}`,
          LOG_LEVEL: '$' + '{LOG_LEVEL:-info}',
        },
      },
      sentry: { type: 'http', url: 'https://mcp.sentry.dev/mcp' },
      old: { type: 'sse', url: 'https://mcp.example.com/sse' },
    });
    expect(document.servers.map((one: { status: string }) => one.status)).toEqual(['new', 'new', 'new']);
    expect(document.servers[0]).toMatchObject({ secrets: ['GITHUB_PERSONAL_ACCESS_TOKEN'], variables: [] });
    expect(notes.old[0]).toContain('SSE');
  });

  spec('UPS-7 EXE-10', 'a sandbox for all servers of a file is imported with those that enable it', async () => {
    for (const client of ['vscode', 'cursor'] as const) {
      const workspace = createWorkspace();
      const sandbox = { filesystem: { denyRead: ['$' + '{userHome}/private'] } };
      const servers = { boxed: { command: 'a', sandboxEnabled: true }, open: { command: 'b' } };
      const document = { [client === 'vscode' ? 'servers' : 'mcpServers']: servers, sandbox };
      workspace.write(`.${client}/mcp.json`, JSON.stringify(document));
      const run = json(await wield(workspace, ['mcp', 'import', client, '--unpinned', '--yes', '--json']));
      expect(run.servers.flatMap((one: { variables: string[] }) => one.variables)).toEqual([]);
      expect(readWritten(workspace)).toEqual({
        boxed: { command: 'a', args: [], sandboxEnabled: true, sandbox },
        open: { command: 'b', args: [] },
      });
    }
  });

  const FILES: [name: string, document: object | string, servers: object][] = [
    [
      'mcporter.json',
      {
        mcpServers: {
          docs: { description: 'd', baseUrl: 'https://docs.example/mcp', headers: { Authorization: '$env:DOCS_KEY' } },
        },
        imports: ['cursor'],
      },
      { docs: { type: 'http', url: 'https://docs.example/mcp', headers: { Authorization: '$' + '{DOCS_KEY}' } } },
    ],
    [
      'mcporter-fields.json',
      {
        mcpServers: {
          a: { base_url: 'https://a.example', tokenCacheDir: '~/.mcporter/a', auth: 'oauth', client_name: 'x' },
          b: { server_url: 'https://b.example', bearer_token_env: 'B_KEY', lifecycle: 'keep-alive' },
          c: { url: 'https://c.example', bearerToken: '$' + '{C_KEY}', oauth_redirect_url: 'http://x' },
          d: { executable: 'x', args: ['y'], lifecycle: { mode: 'ephemeral' }, logging: {}, token_cache_dir: 'z' },
        },
      },
      {
        a: { type: 'http', url: 'https://a.example' },
        b: { type: 'http', url: 'https://b.example', headers: { Authorization: 'Bearer $' + '{B_KEY}' } },
        c: { type: 'http', url: 'https://c.example', headers: { Authorization: 'Bearer $' + '{C_KEY}' } },
        d: { command: 'x', args: ['y'] },
      },
    ],
    [
      'profile.json',
      {
        version: 1,
        id: 'dev',
        name: 'Dev',
        servers: [
          { type: 'image', image: 'mcp/time:latest' },
          {
            type: 'image',
            image: 'mcp/db@sha256:0',
            config: { host: 'h', paths: ['/a'] },
            secrets: 'default',
            tools: ['query'],
            snapshot: {
              server: {
                name: 'db',
                type: 'server',
                image: 'mcp/db@sha256:0',
                command: ['--host', '{{db.host}}'],
                volumes: ['/data:/data:ro'],
                user: '1000',
                disableNetwork: true,
                env: [{ name: 'HOST', value: '{{db.host}}' }],
                secrets: [{ name: 'db.key', env: 'DB_KEY' }],
              },
            },
          },
          {
            type: 'remote',
            endpoint: 'https://r.example/mcp',
            snapshot: { server: { name: 'far', type: 'remote', remote: { url: 'https://r.example/mcp' } } },
          },
        ],
        secrets: { default: { provider: 'docker-desktop-store' } },
      },
      {
        time: { command: 'docker', args: ['run', '-i', '--rm', '--init', 'mcp/time:latest'] },
        db: {
          command: 'docker',
          args: [
            ...['run', '-i', '--rm', '--init', '--network', 'none', '-u', '1000', '-v', '/data:/data:ro'],
            ...['-e', 'HOST', '-e', 'DB_KEY', 'mcp/db@sha256:0', '--host', 'h'],
          ],
          env: { HOST: 'h', DB_KEY: '$' + '{DB_KEY}' },
          allow: ['query'],
        },
        far: { type: 'http', url: 'https://r.example/mcp' },
      },
    ],
    [
      'profile.yaml',
      'version: 1\nid: dev\nname: Dev\nservers:\n  - type: image\n    image: mcp/time:latest\n  - type: registry\n    source: https://r.example/v0/servers/x\n  - type: image\n    image: mcp/odd\n    snapshot:\n      server:\n        name: odd\n        env: [{ name: A, value: "{{odd.missing}}" }]\n',
      { time: { command: 'docker', args: ['run', '-i', '--rm', '--init', 'mcp/time:latest'] } },
    ],
    [
      'settings.json',
      { 'editor.fontSize': 12, mcp: { inputs: [], servers: { a: { type: 'http', url: 'https://a.example' } } } },
      { a: { type: 'http', url: 'https://a.example' } },
    ],
    [
      'Code/User/settings.json',
      { 'mcp.servers': { a: { command: 'x', env: { B: '$' + '{env:B}' } } } },
      { a: { command: 'x', args: [], env: { B: '$' + '{B}' } } },
    ],
    [
      'flat.json',
      { ctx: { url: 'https://c.example/mcp' }, run: { command: 'x', args: ['y'] } },
      {
        ctx: { type: 'http', url: 'https://c.example/mcp' },
        run: { command: 'x', args: ['y'] },
      },
    ],
    [
      'urls.json',
      { mcpServers: { a: { serverUrl: 'https://a.example' }, b: { httpUrl: 'https://b.example' } } },
      {
        a: { type: 'http', url: 'https://a.example' },
        b: { type: 'http', url: 'https://b.example' },
      },
    ],
    [
      'tools.json',
      {
        mcpServers: {
          a: { command: 'x', tools: ['read'] },
          b: { command: 'x', tools: ['*'], disabledTools: ['w'] },
          c: { command: 'x', tools: { read: true, write: false } },
          d: { command: 'x', tools: { '*': false, read: true } },
        },
      },
      {
        a: { command: 'x', args: [], allow: ['read'] },
        b: { command: 'x', args: [], deny: ['w'] },
        c: { command: 'x', args: [], deny: ['write'] },
        d: { command: 'x', args: [], allow: ['read'] },
      },
    ],
    [
      'both.json',
      {
        servers: { a: { command: 'x' }, twice: { command: 'first' } },
        mcpServers: { b: { command: 'y' }, twice: { command: 'second' } },
        'amp.mcpServers': { c: { command: ['z', '1'] } },
      },
      {
        a: { command: 'x', args: [] },
        twice: { command: 'first', args: [] },
        b: { command: 'y', args: [] },
        c: { command: 'z', args: ['1'] },
      },
    ],
    [
      '.cursor/mcp.json',
      { servers: { a: { command: 'x' } }, mcpServers: { b: { command: 'y' } } },
      {
        a: { command: 'x', args: [] },
        b: { command: 'y', args: [] },
      },
    ],
    [
      'any.toml',
      '[mcp_servers.a]\ncommand = "x"\nenabled_tools = ["r"]\n',
      { a: { command: 'x', args: [], allow: ['r'] } },
    ],
    [
      'any.yaml',
      'extensions:\n  a: { type: stdio, cmd: x, envs: { K: v } }\n',
      { a: { command: 'x', args: [], env: { K: 'v' } } },
    ],
    [
      'codex.toml',
      '[mcp_servers.a]\nurl = "https://a.example"\nbearer_token_env_var = "TOK"\nenv_http_headers = { X-A = "HEAD" }\ntool_timeout_sec = 5\n' +
        '[mcp_servers.b]\ncommand = "x"\nenv_vars = ["B"]\nstartup_timeout_sec = 9\n',
      {
        a: {
          type: 'http',
          url: 'https://a.example',
          headers: { Authorization: 'Bearer $' + '{TOK}', 'X-A': '$' + '{HEAD}' },
          timeout: '5s',
        },
        b: { command: 'x', args: [], env: { B: '$' + '{B}' }, startTimeout: '9s' },
      },
    ],
    [
      'goose.yaml',
      'extensions:\n  a: { type: stdio, cmd: x, env_keys: [K] }\n  b: { type: builtin, cmd: y }\n',
      { a: { command: 'x', args: [], env: { K: '$' + '{K}' } } },
    ],
    [
      'claude.json',
      {
        projects: { '/p/a': { mcpServers: { a: { command: 'x' } } }, '/p/b': { mcpServers: { b: { command: 'y' } } } },
      },
      { a: { command: 'x', args: [] }, b: { command: 'y', args: [] } },
    ],
  ];

  spec('UPS-7', 'a name of a variable that is another reference is not imported', async () => {
    const workspace = createWorkspace();
    const named = 'file:/etc/passwd';
    const servers = {
      a: { url: 'https://a.example', bearer_token_env_var: named },
      b: { url: 'https://a.example', bearerTokenEnv: named },
      c: { url: 'https://a.example', env_http_headers: { A: named } },
      d: { command: 'x', env_vars: [named] },
      e: { command: 'x', env_keys: [named] },
    };
    const path = workspace.write('servers.json', JSON.stringify({ servers }));
    const run = json(await wield(workspace, ['mcp', 'import', path, '--unpinned', '--yes', '--json']));
    for (const server of run.servers) expect([server.name, server.status]).toEqual([server.name, 'unusable']);
    expect(existsSync(destination(workspace))).toBe(false);
  });

  spec('UPS-7 UPS-111', 'a file of any client: all its tables, and every spelling of a field', async () => {
    for (const [name, document, servers] of FILES) {
      const workspace = createWorkspace();
      const path = workspace.write(
        `copies/${name}`,
        typeof document === 'string' ? document : JSON.stringify(document),
      );
      json(await wield(workspace, ['mcp', 'import', path, '--unpinned', '--yes', '--json']));
      expect([name, readWritten(workspace)]).toEqual([name, servers]);
    }
    const workspace = createWorkspace();
    for (const document of [{ name: 'x', scripts: { build: 'tsc' } }, { a: { url: 'https://x' }, b: 1 }, [], {}]) {
      const path = workspace.write('other.json', JSON.stringify(document));
      const run = await wield(workspace, ['mcp', 'import', path, '--unpinned', '--yes']);
      expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('has no servers in a known format')]);
    }
  });

  spec('UPS-111', 'says why a file cannot be read', async () => {
    const workspace = createWorkspace();
    for (const [name, text, fault] of [
      ['a.json', '{\n  "mcpServers": {\n', /a\.json:3: close brace expected/],
      ['a.toml', 'x = 1\n[mcp_servers.a\n', /a\.toml:2: /],
      ['a.yaml', 'a: 1\nextensions: {\n', /a\.yaml:3: /],
      ['a.conf', '{\n  "mcpServers": {\n', /a\.conf:3: close brace expected/],
      ['b.json', Buffer.from('{ "a": "\xff" }', 'latin1'), /b\.json is not UTF-8 text/],
      ['c.json/d', '', /cannot read .*c\.json: not a regular file/],
      ['d.json', '{\n "mcpServers": {},\n "mcpServers": {} }', /d\.json:3: has the key "mcpServers" twice/],
      ['note.conf', 'hello', /has no servers in a known format/],
    ] as const) {
      const path = workspace.write(`copies/${name}`, text);
      const run = await wield(workspace, ['mcp', 'import', path.replace(/\/d$/, ''), '--yes']);
      expect(run.status).not.toBe(0);
      expect(run.stderr).toMatch(fault);
      expect(run.stderr).not.toContain('wield connect');
    }
  });

  spec('UPS-111', 'a secret of a container is passed in a variable, not in the command line', async () => {
    const workspace = createWorkspace();
    const container = (...args: string[]) => ({ command: '/usr/bin/docker', args: ['run', '-i', '--rm', ...args] });
    const servers = {
      a: container(
        '-e',
        `API_TOKEN=${SEEDED}`,
        '-e',
        'LEVEL=info',
        '--name',
        'n',
        `--env=B_KEY=${SEEDED}`,
        'image',
        '-x',
      ),
      b: container('--env', 'TOKEN=$' + '{input:token}', '-eC_KEY=k1', '-e', 'D_KEY', 'image'),
      c: container('image', '-e', `API_TOKEN=${SEEDED}`),
    };
    const path = workspace.write('servers.json', JSON.stringify({ servers }));
    const run = json(await wield(workspace, ['mcp', 'import', path, '--unpinned', '--yes', '--json']));
    expect(JSON.stringify(run)).not.toContain(SEEDED);
    const secret = (name: string): string => `file:${file(workspace, name)}`;
    const start = ['run', '-i', '--rm'];
    expect(readWritten(workspace)).toEqual({
      a: {
        command: '/usr/bin/docker',
        args: [...start, '-e', 'API_TOKEN', '-e', 'LEVEL=info', '--name', 'n', '--env=B_KEY', 'image', '-x'],
        env: { API_TOKEN: secret('a.API_TOKEN'), B_KEY: secret('a.B_KEY') },
      },
      b: {
        command: '/usr/bin/docker',
        args: [...start, '--env', 'TOKEN', '-eC_KEY', '-e', 'D_KEY', 'image'],
        env: { TOKEN: '$' + '{TOKEN}', C_KEY: secret('b.C_KEY') },
      },
    });
    expect(readFileSync(file(workspace, 'a.B_KEY'), 'utf8')).toBe(SEEDED);
    expect(run.servers[2].notes[0]).toContain('its command line contains a credential');
  });

  spec('UPS-7', 'claude-desktop: text that looks like a reference is kept', async () => {
    const { workspace, written } = await importAll('claude-desktop', 'user');
    expect(written.prisma.env).toEqual({
      DATABASE_URL: `file:${file(workspace, 'prisma.DATABASE_URL')}`,
      PATTERN: `file:${file(workspace, 'prisma.PATTERN')}`,
    });
    expect(readFileSync(file(workspace, 'prisma.DATABASE_URL'), 'utf8')).toBe('file:./dev.db');
    expect(readFileSync(file(workspace, 'prisma.PATTERN'), 'utf8')).toBe('$' + '{literal}');
  });

  spec('UPS-7', 'cursor: headers with a bearer token, references to variables', async () => {
    const { workspace, written } = await importAll('cursor', 'project');
    expect(written).toEqual({
      linear: {
        type: 'http',
        url: 'https://mcp.linear.app/mcp',
        headers: { Authorization: `Bearer $\{file:${file(workspace, 'linear.Authorization')}}` },
      },
      db: {
        command: 'pg-mcp',
        args: ['--schema', '$' + '{DB_SCHEMA}'],
        env: { DB_PASSWORD: '$' + '{DB_PASSWORD}' },
      },
    });
    expect(readFileSync(file(workspace, 'linear.Authorization'), 'utf8')).toBe(SEEDED);
  });

  spec('UPS-7', 'vscode: inputs become variables, directories are filled in, both with a note', async () => {
    const { workspace, written, notes } = await importAll('vscode', 'project');
    expect(written).toEqual({
      playwright: {
        command: 'npx',
        args: ['-y', '@microsoft/mcp-server-playwright', '--root', workspace.dir],
      },
      search: {
        type: 'http',
        url: 'https://search.example.com/mcp?region=eu',
        headers: { 'X-API-Key': '$' + '{API_KEY}' },
      },
    });
    expect(notes.search[0]).toContain('set the variable API_KEY');
    expect(notes.playwright[0]).toContain(workspace.dir);
  });

  spec('UPS-7', 'codex: timeouts, tools, tokens from variables, and disabled servers', async () => {
    const { workspace, written } = await importAll('codex', 'user');
    expect(written).toEqual({
      docs: {
        command: 'docs-server',
        args: ['--verbose', '--index', '[main]'],
        env: { DOCS_HOME: '$' + '{DOCS_HOME}', DOCS_TOKEN: `file:${file(workspace, 'docs.DOCS_TOKEN')}` },
        allow: ['search', 'open'],
        deny: ['delete'],
        timeout: '90500ms',
        startTimeout: '20s',
      },
      figma: {
        type: 'http',
        url: 'https://mcp.figma.com/mcp',
        headers: {
          Authorization: 'Bearer $' + '{FIGMA_TOKEN}',
          'X-Team': '$' + '{FIGMA_TEAM}',
          'X-Region': 'us-east-1',
        },
        disabled: true,
      },
    });
  });

  spec('UPS-7', 'windsurf, gemini-cli: credentials in a URL, tools, timeouts', async () => {
    const windsurf = await importAll('windsurf', 'user');
    expect(windsurf.written.remote).toEqual({
      type: 'http',
      url: `https://$\{file:${file(windsurf.workspace, 'remote.url_user')}}@mcp.example.com/mcp`,
      deny: ['drop'],
    });
    expect(windsurf.written.local).toMatchObject({ command: 'uvx', disabled: true });
    const gemini = await importAll('gemini-cli', 'project');
    expect(gemini.written).toEqual({
      maps: {
        type: 'http',
        url: `https://maps.example.com/mcp?key=$\{file:${file(gemini.workspace, 'maps.url_key')}}`,
        allow: ['geocode'],
        deny: ['purge'],
        timeout: '30s',
      },
      shell: {
        command: 'shell-mcp',
        args: [],
        env: { SHELL_TOKEN: '$' + '{SHELL_TOKEN}' },
        cwd: join(gemini.workspace.dir, 'tools'),
      },
    });
    expect(gemini.notes.maps.join()).toContain('trust');
  });

  spec('UPS-7', 'zed, opencode, goose, roo: different field names', async () => {
    const zed = await importAll('zed', 'user');
    expect(zed.written).toEqual({
      custom: { command: 'node', args: ['server.js'] },
      older: { command: 'older-server', args: ['--stdio'], env: { A: '1' } },
    });
    expect(zed.notes.ext[0]).toContain('extension');
    const opencode = await importAll('opencode', 'project');
    expect(opencode.written).toEqual({
      everything: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-everything'],
        env: { KEY: '$' + '{EVERYTHING_KEY}' },
        disabled: true,
      },
      jira: {
        type: 'http',
        url: 'https://jira.example.com/mcp',
        headers: { Authorization: 'Bearer $' + '{JIRA}' },
      },
    });
    const goose = await importAll('goose', 'user');
    expect(goose.written.brave).toEqual({
      command: 'npx',
      args: ['-y', 'brave-server'],
      env: {
        BRAVE_TEAM: '$' + '{BRAVE_TEAM}',
        BRAVE_API_KEY: `file:${file(goose.workspace, 'brave.BRAVE_API_KEY')}`,
      },
      timeout: '300s',
    });
    expect(goose.written.developer).toBeUndefined();
    const roo = await importAll('roo', 'project');
    expect(roo.written.weather).toEqual({
      type: 'http',
      url: 'https://weather.example.com/mcp',
      deny: ['set'],
      timeout: '60s',
    });
  });
});

describe('secrets', () => {
  spec('UPS-7', 'are written to private files only and never shown', async () => {
    const workspace = createWorkspace();
    for (const fixture of CLIENT_FILES) writeClientFile(workspace, fixture);
    const said: string[] = [];
    const files: string[] = [];
    const clients = ['claude-code', 'cursor', 'codex', 'windsurf', 'gemini-cli', 'goose'];
    for (const client of clients) {
      for (const flags of [['--dry-run'], ['--dry-run', '--json'], ['--yes', '--verbose']]) {
        const run = await wield(workspace, ['mcp', 'import', client, '--unpinned', ...flags]);
        expect(run.status).toBe(0);
        said.push(run.stdout, run.stderr);
      }
      files.push(readFileSync(destination(workspace), 'utf8'));
    }
    expect([...said, ...files].join('\n')).not.toContain(SEEDED.slice(0, 20));
    expect(statSync(destination(workspace)).mode & 0o777).toBe(0o600);
    expect(statSync(secretsOf(workspace)).mode & 0o777).toBe(0o700);
    const kept = readdirSync(secretsOf(workspace));
    expect(kept).toHaveLength(clients.length);
    for (const name of kept) {
      expect(statSync(file(workspace, name)).mode & 0o777).toBe(0o600);
      expect(readFileSync(file(workspace, name), 'utf8')).toContain(SEEDED);
    }
  });

  const shown: [string, object][] = [
    ['an option', { command: 'x', args: ['--api-key', SEEDED] }],
    ['an assignment', { command: 'docker', args: ['run', 'x', '-e', `TOKEN=${SEEDED}`] }],
    [
      'a header option',
      {
        command: 'npx',
        args: ['mcp-remote', 'https://x.example', '--header', `Authorization: Bearer ${SEEDED}`],
      },
    ],
    ['a connection', { command: 'pg', args: [`postgres://ada:${SEEDED}@db/x`] }],
    ['an address', { command: 'npx', args: ['mcp-remote', `https://x.example/mcp?api_key=${SEEDED}`] }],
    ['a variable', { command: 'npx', args: ['mcp-remote', '--header', 'Authorization:$' + '{AUTH_TOKEN}'] }],
  ];
  spec('UPS-7', 'a command line with a credential is not imported and not shown', async () => {
    const workspace = createWorkspace();
    const servers = Object.fromEntries(shown.map(([name, entry]) => [name, entry]));
    workspace.write('servers.json', JSON.stringify({ mcpServers: servers }));
    const run = await wield(workspace, ['mcp', 'import', 'servers.json', '--unpinned', '--yes', '--json']);
    expect(run.stdout).not.toContain(SEEDED);
    expect(json(run).written).toBe(false);
    for (const server of json(run).servers) expect([server.name, server.status]).toEqual([server.name, 'unusable']);
    expect((await wield(workspace, ['mcp', 'import', 'servers.json', '--unpinned', '--yes'])).stdout).not.toContain(
      SEEDED,
    );
    expect(existsSync(secretsOf(workspace))).toBe(false);
  });

  spec('UPS-7', 'a file reference that the client does not support is not imported', async () => {
    const workspace = createWorkspace();
    const hostile = { url: 'https://x.example/mcp', headers: { 'X-A': '$' + '{file:/etc/passwd}' } };
    workspace.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { hostile } }));
    const run = json(await wield(workspace, ['mcp', 'import', 'cursor', '--unpinned', '--yes', '--json']));
    expect(run.servers[0].status).toBe('unusable');
  });
});

describe('consent', () => {
  spec('UPS-7', 'shows what is read and written, and writes nothing without consent', async () => {
    const workspace = createWorkspace();
    writeClientFile(workspace, fixtureOf('codex', 'user'));
    const run = await wield(workspace, ['mcp', 'import', 'codex']);
    expect(run.status).toBe(5);
    expect(run.stdout).toContain('reads   ~/.codex/config.toml');
    expect(run.stdout).toContain('writes  ~/.agents/mcp.json');
    expect(run.stdout).toMatch(/runs +docs-server --verbose/);
    expect(run.stdout).toMatch(/needs +FIGMA_TOKEN FIGMA_TEAM/);
    expect(existsSync(destination(workspace))).toBe(false);
    expect(existsSync(secretsOf(workspace))).toBe(false);
  });

  specIf(hasPty, NO_PTY, 'UPS-7', 'asks at a terminal', async () => {
    const workspace = createWorkspace();
    writeClientFile(workspace, fixtureOf('codex', 'user'));
    await wieldAtTerminal(workspace, ['mcp', 'import', 'codex'], { answers: [['[y/N]', 'n\n']] });
    expect(existsSync(destination(workspace))).toBe(false);
    await wieldAtTerminal(workspace, ['mcp', 'import', 'codex'], { answers: [['[y/N]', 'y\n']] });
    expect(Object.keys(readWritten(workspace))).toEqual(['docs', 'figma']);
  });

  spec('UPS-7', 'is refused inside a tool', async () => {
    const workspace = createWorkspace();
    writeClientFile(workspace, fixtureOf('codex', 'user'));
    const command = `"${process.execPath}" "${binary()}" mcp import codex --yes 2>&1`;
    workspace.script('sly', `#!/bin/sh\n# @description Sly.\n${command}\n`);
    expect((await wield(workspace, ['call', 'sly'])).stdout).toContain('from inside a tool call');
    expect(existsSync(destination(workspace))).toBe(false);
  });
});

describe('existing servers', () => {
  spec('UPS-7', 'are kept unless --force, as is everything else in the file', async () => {
    const workspace = createWorkspace();
    writeClientFile(workspace, fixtureOf('codex', 'user'));
    mkdirSync(join(workspace.home, '.agents'));
    const text = '{\n\t"mcpServers": {\n\t\t"docs": { "command": "mine" }\n\t},\n\t"other": 1\n}\n';
    writeFileSync(destination(workspace), text);
    const run = json(await wield(workspace, ['mcp', 'import', 'codex', '--unpinned', '--yes', '--json']));
    expect(run.servers.map((one: { status: string }) => one.status)).toEqual(['exists', 'new']);
    expect(readWritten(workspace).docs).toEqual({ command: 'mine' });
    expect(readFileSync(destination(workspace), 'utf8')).toContain('\n\t\t"figma": {\n\t\t\t"type"');
    const again = await wield(workspace, ['mcp', 'import', 'codex', '--unpinned', '--yes']);
    expect(again.stdout).toContain('nothing to import');
    await wield(workspace, ['mcp', 'import', 'codex', '--unpinned', '--server', 'docs', '--force', '--yes']);
    expect(readWritten(workspace).docs.command).toBe('docs-server');
    expect(JSON.parse(readFileSync(destination(workspace), 'utf8')).other).toBe(1);
  });

  spec('UPS-7', 'are not joined by one that could not be used, which is named', async () => {
    const workspace = createWorkspace();
    const servers = { good: { command: 'x' }, bad: { url: 'https://x.example', headers: { 'a b': 'c' } } };
    const path = workspace.write('servers.json', JSON.stringify({ servers }));
    const run = json(await wield(workspace, ['mcp', 'import', path, '--unpinned', '--yes', '--json']));
    expect(run.servers).toMatchObject([
      { status: 'new' },
      { status: 'unusable', notes: [expect.stringMatching(/header/)] },
    ]);
    expect(Object.keys(readWritten(workspace))).toEqual(['good']);
  });

  spec('UPS-7', '--server selects, --scope project writes here, and wield itself is skipped', async () => {
    const workspace = createWorkspace();
    writeClientFile(workspace, fixtureOf('vscode', 'project'));
    await wield(workspace, ['connect', 'vscode', '--yes']);
    const args = ['mcp', 'import', 'vscode', '--unpinned', '--scope', 'project', '--yes', '--json'];
    const picked = json(await wield(workspace, [...args, '--server', 'playwright', '--server', 'playwright']));
    expect(picked.servers).toHaveLength(1);
    expect(picked.file).toBe(join(workspace.dir, '.agents/mcp.json'));
    expect(Object.keys(JSON.parse(readFileSync(picked.file, 'utf8')).mcpServers)).toEqual(['playwright']);
    const all = json(await wield(workspace, args));
    expect(all.servers.find((one: { name: string }) => one.name === 'wield')).toMatchObject({
      status: 'unusable',
      notes: expect.arrayContaining(['it is wield itself']),
    });
    expect((await wield(workspace, [...args, '--server', 'playwrigth'])).stdout).toContain('did you mean playwright?');
  });

  spec('UPS-7', 'a trusted workspace stays trusted after a confirmed import', async () => {
    const workspace = createWorkspace();
    workspace.script('greet', '#!/bin/sh\n# @description Greet.\n');
    writeClientFile(workspace, fixtureOf('codex', 'user'));
    await wield(workspace, ['trust', '--yes']);
    await wield(workspace, ['mcp', 'import', 'codex', '--unpinned', '--scope', 'project', '--yes']);
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(true);
  });
});

describe('sources', () => {
  spec('UPS-7', 'lists clients with servers and the command for each', async () => {
    const workspace = createWorkspace();
    writeClientFile(workspace, fixtureOf('goose', 'user'));
    workspace.write('.vscode/mcp.json', '{ "servers": ');
    workspace.write('.mcp.json', '{ "mcpServers": { "a": { "command": "a" } } }');
    const { clients } = json(await wield(workspace, ['mcp', 'import', '--json']));
    expect(clients.map((one: { id: string }) => one.id)).toEqual(['vscode', 'goose']);
    expect(clients[1]).toMatchObject({
      command: 'wield mcp import goose',
      files: [{ servers: 3, fault: null }],
    });
    expect(clients[0].files[0].fault).toContain('mcp.json:1');
    expect((await wield(workspace, ['mcp', 'import'])).stdout).toContain('wield mcp import goose');
  });

  spec('UPS-7', 'errors have a hint and write nothing', async () => {
    const workspace = createWorkspace();
    workspace.write('.vscode/mcp.json', '{\n "servers": ');
    const broken = await wield(workspace, ['mcp', 'import', 'vscode', '--unpinned', '--yes']);
    expect([broken.status, broken.stderr]).toEqual([2, expect.stringContaining('mcp.json:2')]);
    const unknown = await wield(workspace, ['mcp', 'import', 'cursr']);
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining('did you mean cursor?')]);
    const missing = await wield(workspace, ['mcp', 'import', './nothing.json']);
    expect([missing.status, missing.stderr]).toEqual([3, expect.stringContaining('file not found')]);
    const none = await wield(workspace, ['mcp', 'import', 'zed']);
    expect([none.status, none.stderr]).toEqual([3, expect.stringContaining('zed/settings.json')]);
    const action = await wield(workspace, ['mcp', 'imprt']);
    expect([action.status, action.stderr]).toEqual([2, expect.stringContaining('did you mean wield mcp import?')]);
    writeClientFile(workspace, fixtureOf('codex', 'user'));
    mkdirSync(join(workspace.home, '.agents'));
    writeFileSync(destination(workspace), '{ broken');
    expect((await wield(workspace, ['mcp', 'import', 'codex', '--unpinned', '--yes'])).status).toBe(2);
    expect(readFileSync(destination(workspace), 'utf8')).toBe('{ broken');
    expect(existsSync(secretsOf(workspace))).toBe(false);
  });
});
