// Tests of configured servers: where they are read from, and that no secret is shown.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SECRET = 'zq-51837-Hk29xPv';

const serversOf = (workspace: Workspace) => workspace.toolbox().state.configuration().settings.servers;
const entryOf = (document: { values: { key: string }[] }, key: string) =>
  document.values.find((one) => one.key === key);

describe('servers of the configuration', () => {
  spec('UPS-1', 'mcpServers tables and [[mcp.servers]] entries are equivalent', () => {
    const workspace = createWorkspace();
    workspace.config(`[mcpServers.one]
command = "npx"
args = ["-y", "@x/server"]
deny = "drop_*"
startTimeout = "20s"

[mcpServers.one.env]
API_KEY = "\${KEY}"

[[mcp.servers]]
name = "two"
url = "https://x.example/mcp"
headers = { Authorization = "Bearer \${KEY}" }
`);
    workspace.write('.agents/config.toml', '\n[[mcp.servers]]\nname = "three"\ncommand = "./run"\n');
    const file = join(workspace.env.WIELD_HOME!, 'config.toml');
    expect(workspace.toolbox().state.configuration().problems).toEqual([]);
    expect(serversOf(workspace)).toEqual([
      {
        kind: 'stdio',
        name: 'one',
        owner: 'user',
        position: { file, pointer: null, line: 1 },
        command: 'npx',
        args: ['-y', '@x/server'],
        env: { API_KEY: '${KEY}' },
        deny: ['drop_*'],
        startTimeoutMs: 20_000,
      },
      {
        kind: 'http',
        name: 'two',
        owner: 'user',
        position: { file, pointer: null, line: 10 },
        url: 'https://x.example/mcp',
        headers: { Authorization: 'Bearer ${KEY}' },
      },
      {
        kind: 'stdio',
        name: 'three',
        owner: 'workspace',
        position: { file: join(workspace.dir, '.agents/config.toml'), pointer: null, line: 2 },
        command: './run',
        args: [],
        env: {},
      },
    ]);
  });

  spec('POL-11', 'a project cannot replace a server of the user, but may disable one', async () => {
    const workspace = createWorkspace();
    workspace.config('[mcpServers.github]\ncommand = "mine"\n[mcp]\ndisabled = ["old"]\n');
    const project = workspace.write(
      '.agents/config.toml',
      '[mcpServers.github]\ncommand = "theirs"\n[mcpServers.local]\ncommand = "x"\n[mcp]\ndisabled = ["github"]\n',
    );
    const { settings, problems } = workspace.toolbox().state.configuration();
    expect(settings.servers.map(({ name, owner }) => `${owner} ${name}`)).toEqual(['user github', 'workspace local']);
    expect(settings.servers[0]).toMatchObject({ command: 'mine' });
    expect(settings.disabledServers).toEqual(['old', 'github']);
    expect(problems).toMatchObject([
      {
        severity: 'warning',
        path: project,
        message: expect.stringMatching(/^line 1: server "github" is not used: .*config\.toml:1/),
      },
    ]);
    const shown = json(await wield(workspace, ['config', '--json']));
    expect(entryOf(shown, 'mcpServers.github')).toMatchObject({ layer: 'user', value: { command: 'mine' } });
    expect(shown.values.filter((one: { key: string }) => one.key === 'mcp.disabled')).toHaveLength(2);
  });

  test('an invalid entry is reported with its line and the others are used', async () => {
    const workspace = createWorkspace();
    workspace.script('greet', '#!/bin/sh\n# @description Greet.\necho hi\n');
    workspace.config(`[mcpServers.bad]
command = "x"

[mcpServers.bad.env]
PORT = 80

[[mcp.servers]]
command = "nameless"

[[mcp.servers]]
name = "good"
command = "x"
commnd = "y"

[mcp]
servrs = 1
`);
    const { problems, fault, values } = json(await wield(workspace, ['config', '--json']));
    expect(fault).toContain('mcp.servrs');
    expect(problems.map(({ severity, message }: { severity: string; message: string }) => [severity, message])).toEqual(
      expect.arrayContaining([
        ['error', 'line 5: server "bad", env.PORT: must be a string'],
        ['error', expect.stringMatching(/^line 7: server ""/)],
        ['warning', expect.stringMatching(/^line 13: server "good", commnd: unknown field/)],
        ['error', expect.stringContaining('unknown key "mcp.servrs"')],
      ]),
    );
    expect(problems).toHaveLength(4);
    expect(values.map(({ key }: { key: string }) => key).filter((key: string) => key.startsWith('mcpServers'))).toEqual(
      ['mcpServers.good'],
    );
    // The unknown key may have been meant to disable a server.
    expect((await wield(workspace, ['call', 'greet'])).status).not.toBe(0);
  });
});

describe('display', () => {
  const createSecrets = (): Workspace => {
    const workspace = createWorkspace();
    workspace.script('greet', '#!/bin/sh\n# @description Greet.\necho hi\n');
    workspace.config(`[mcpServers.files]
command = "npx"
args = ["-y", "@x/server", "--token", "${SECRET}", "--root", "."]
[mcpServers.files.env]
API_KEY = "${SECRET}"
OTHER_KEY = "\${OTHER:-${SECRET}}"
GITHUB_TOKEN = "\${GITHUB_TOKEN}"
DB = "postgres://ada:${SECRET}@db.example/x"
MODE = "fast"

[mcpServers.remote]
url = "https://ada:${SECRET}@x.example/mcp?api_key=${SECRET}&mode=fast&user=\${USER_KEY}"
headers = { Authorization = "Bearer ${SECRET}", X-Api-Key = "file:~/key", X-Org = "acme" }
oauth = { clientId = "public-id", clientSecret = "${SECRET}" }

[model]
provider = "openai"
name = "m"
url = "https://x.example/v1?key=${SECRET}"
`);
    workspace.write(
      '.mcp.json',
      JSON.stringify({
        mcpServers: {
          broken: { command: 'x', env: { TOKEN: [SECRET] }, headers: { A: SECRET } },
          literal: { url: 'https://y.example', headers: { 'X-Api-Key': SECRET }, note: SECRET },
        },
      }),
    );
    return workspace;
  };

  spec('CLI-18', 'shows references as written and masks secrets in plain text', async () => {
    const workspace = createSecrets();
    const shown = json(await wield(workspace, ['config', '--json'], { env: { GITHUB_TOKEN: 'of-the-environment' } }));
    expect(entryOf(shown, 'mcpServers.files')).toMatchObject({
      layer: 'user',
      line: 1,
      value: {
        command: 'npx',
        args: ['-y', '@x/server', '--token', '[redacted]', '--root', '.'],
        env: {
          API_KEY: '[redacted]',
          OTHER_KEY: '${OTHER:-[redacted]}',
          GITHUB_TOKEN: '${GITHUB_TOKEN}',
          DB: 'postgres://ada:[redacted]@db.example/x',
          MODE: 'fast',
        },
      },
    });
    expect(entryOf(shown, 'mcpServers.remote')).toMatchObject({
      value: {
        url: 'https://[redacted]:[redacted]@x.example/mcp?api_key=[redacted]&mode=fast&user=${USER_KEY}',
        headers: { Authorization: 'Bearer [redacted]', 'X-Api-Key': 'file:~/key', 'X-Org': 'acme' },
        oauth: { clientId: 'public-id', clientSecret: '[redacted]' },
      },
    });
    expect(entryOf(shown, 'model.url')).toMatchObject({ value: 'https://x.example/v1?key=[redacted]' });
    const text = await wield(workspace, ['config']);
    expect(text.stdout).toMatch(/mcpServers\.files .*"GITHUB_TOKEN":"\$\{GITHUB_TOKEN\}".*config\.toml:1/);
    // The server still receives them.
    const [files] = serversOf(workspace);
    expect(files).toMatchObject({ env: { API_KEY: SECRET } });
  });

  spec('CLI-18 ERR-5', 'no command shows a secret', async () => {
    const workspace = createSecrets();
    for (const args of [
      ['config'],
      ['config', '--json'],
      ['doctor'],
      ['doctor', '--json'],
      ['list', '--verbose'],
      ['list', '--json'],
      ['show', 'greet', '--json'],
      ['call', 'greet', '--verbose'],
      ['check', '--json'],
      ['audit', '--json'],
    ]) {
      const { stdout, stderr } = await wield(workspace, args);
      expect(stdout + stderr).not.toBe('');
      expect([args, (stdout + stderr).includes(SECRET)]).toEqual([args, false]);
    }
  });
});

describe('server files', () => {
  spec('UPS-1', 'doctor reports problems with file and pointer', async () => {
    const workspace = createWorkspace();
    mkdirSync(join(workspace.home, '.agents'));
    writeFileSync(join(workspace.home, '.agents/mcp.json'), '{"mcpServers":{"a":{"command":"x"}}}');
    const file = workspace.write(
      '.mcp.json',
      '{"mcpServers":{"a":{"command":"y"},"b":{"type":"ws","url":"https://x"}}}',
    );
    expect(await workspace.toolbox().catalog.problems()).toMatchObject([
      {
        severity: 'error',
        path: file,
        pointer: '/mcpServers/b/type',
        hint: expect.stringContaining('url means http'),
      },
      {
        severity: 'warning',
        path: file,
        pointer: '/mcpServers/a',
        message: expect.stringContaining('.agents/mcp.json'),
      },
      {
        severity: 'error',
        path: join(workspace.home, '.agents/mcp.json'),
        pointer: '/mcpServers/a',
        message: expect.stringContaining('cannot start x'),
      },
    ]);
    const doctor = await wield(workspace, ['doctor']);
    expect(doctor.status).toBe(1);
    expect(doctor.stdout).toContain('must be "stdio", "http" or "sse"');
  });

  spec('POL-20', 'listing and diagnosing never expand references of a workspace', async () => {
    const workspace = createWorkspace();
    workspace.script('greet', '#!/bin/sh\n# @description Greet.\necho hi\n');
    execFileSync('mkfifo', [join(workspace.dir, 'pipe')]);
    workspace.write(
      '.mcp.json',
      JSON.stringify({
        mcpServers: {
          a: { command: 'x', env: { A: 'file:./pipe', B: '${NO_SUCH_VARIABLE}', C: '${HELD}' } },
        },
      }),
    );
    for (const args of [
      ['list', '--json'],
      ['doctor', '--json'],
      ['search', 'greet', '--json'],
      ['config', '--json'],
    ]) {
      const { status, stdout, stderr } = await wield(workspace, args, { env: { HELD: SECRET } });
      expect([0, 1]).toContain(status);
      expect(stdout + stderr).not.toMatch(/NO_SUCH_VARIABLE|zq-51837/);
    }
  });
});
