// Secrets of servers never appear in output, records or state files, whatever the server does.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { defineTool, ToolError } from '../../src/index.js';
import { type CliRun, wield } from '../support/cli.js';
import { serveStdio } from '../support/server.js';
import { spec } from '../support/spec.js';
import { createUpstreamWorkspace, type UpstreamWorkspace } from '../support/upstream-workspace.js';
import { createWorkspace } from '../support/workspace.js';

const SECRETS = {
  variable: 'v4riable-S3cret-9f8e7d',
  file: 'f1le "S3cret"\\ with/odd&signs',
  literal: 'l1teral-S3cret-5a4b3c',
  joined: 'j0ined-S3cret-1q2w3e',
};
const env = { MY_TOKEN: SECRETS.variable, JOINED: SECRETS.joined };
const leaks = (text: string): string[] => {
  const forms = (secret: string): string[] => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
  return Object.entries(SECRETS)
    .filter(([, secret]) => forms(secret).some((form) => text.includes(form)))
    .map(([name]) => name);
};

function createLeaky(mode: string, more: Record<string, unknown> = {}): UpstreamWorkspace {
  const workspace = createUpstreamWorkspace({
    far: {
      mode,
      env: {
        VARIABLE: '${MY_TOKEN}',
        FROM_FILE: 'file:~/secret.txt',
        API_KEY: SECRETS.literal,
        HEADER: 'Bearer ${JOINED}',
      },
      more,
    },
  });
  writeFileSync(join(workspace.home, 'secret.txt'), `${SECRETS.file}\n`);
  return workspace;
}

/** Returns the state files that contain a secret. */
function leakyFiles({ env: { WIELD_HOME } }: UpstreamWorkspace): string[] {
  return readdirSync(WIELD_HOME!, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => leaks(readFileSync(file, 'utf8')).length > 0);
}

async function expectSilent(
  workspace: UpstreamWorkspace,
  ...commands: readonly (readonly string[])[]
): Promise<CliRun[]> {
  const runs: CliRun[] = [];
  for (const command of commands) {
    for (const [args, log] of [
      [command, {}],
      [[...command, '--json'], {}],
      [[...command, '--verbose'], { WIELD_LOG: 'debug' }],
    ] as const) {
      const run = await wield(workspace, args, { env: { ...env, ...log } });
      expect([args.join(' '), leaks(run.stdout + run.stderr)]).toEqual([args.join(' '), []]);
      runs.push(run);
    }
  }
  expect(leakyFiles(workspace)).toEqual([]);
  return runs;
}

const LOOKS: readonly (readonly string[])[] = [
  ['list'],
  ['show', 'far_leak'],
  ['search', 'leak'],
  ['doctor'],
  ['config'],
  ['explain', 'far_leak'],
  ['audit'],
  ['approvals'],
];

describe('secrets of a server', () => {
  spec('UPS-5', 'are redacted wherever the server repeats them', async () => {
    const workspace = createLeaky('leaks');
    const runs = await expectSilent(
      workspace,
      ['call', 'far_leak'],
      ['call', 'far_structured'],
      ['call', 'far_error'],
      ['call', 'far_refuse'],
      ['call', 'far_die'],
      ['call', 'far_progress'],
      ...LOOKS,
    );
    // The server did receive them.
    expect(runs[0]!.stdout).toContain('[redacted]');
    expect(runs[0]!.stdout).toContain('all of it');
  });

  spec('UPS-5', 'are not sent to models and not in a command line', async () => {
    const workspace = createLeaky('leaks');
    const server = serveStdio(workspace, { env });
    await server.initialize();
    await server.request('list', 'tools/list');
    for (const name of ['far_leak', 'far_structured', 'far_error', 'far_refuse', 'far_progress', 'far_die'])
      await server.request(name, 'tools/call', { name, arguments: {}, _meta: { progressToken: name } });
    expect(leaks(server.lines.join('\n'))).toEqual([]);
    expect(leaks(server.stderr())).toEqual([]);
    const lines = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        } catch {
          return '';
        }
      });
    expect(leaks(lines.join('\n'))).toEqual([]);
    expect(leakyFiles(workspace)).toEqual([]);
  });

  spec('UPS-5', 'are redacted when split over several parts', async () => {
    const workspace = createLeaky('leaks');
    const leaky = workspace.toolbox({ env: { ...workspace.env, ...env } });
    const { content } = await leaky.call('far_split', {});
    const pieces = content.map((part) => (part.type === 'text' ? part.text : ''));
    expect(leaks(pieces.join(''))).toEqual([]);
    expect(pieces.join('')).toContain('[redacted]');
    expect(pieces.join('')).toContain(' | ');
  });

  spec('UPS-5', 'are redacted in the stored output of a failed start', async () => {
    const workspace = createLeaky('leaks-and-exits');
    await expectSilent(workspace, ['list'], ['doctor'], ['call', 'far_leak']);
    const doctor = await wield(workspace, ['doctor'], { env });
    expect(doctor.stdout).toMatch(/last output: my key is \[redacted\]/);
  });

  spec('UPS-5', 'are redacted in the data of an error', async () => {
    const workspace = createLeaky('leaks-and-exits');
    const toolbox = workspace.toolbox({ env: { ...workspace.env, ...env } });
    const [far] = toolbox.state.snapshot().servers.servers;
    const error = await toolbox.state.upstreams.refresh(far!).catch((thrown: unknown) => thrown);
    const { data } = error as { readonly data: { readonly lastLines: readonly string[] } };
    expect(data.lastLines.join()).toContain('[redacted]');
    expect(leaks(JSON.stringify(data))).toEqual([]);
    const { error: failed } = await toolbox.call('far_leak', {});
    expect(JSON.stringify(failed!.data)).toContain('far');
    expect(leaks(JSON.stringify(failed))).toEqual([]);
  });

  spec('ERR-5', 'of granted variables are redacted in the data of an error', async () => {
    const workspace = createWorkspace();
    workspace.config('[env]\npass = ["MY_TOKEN"]\n');
    const throws = defineTool({
      name: 'throws',
      description: 'Fails.',
      inputSchema: { type: 'object' },
      execute() {
        throw new ToolError('tool_failed', `no ${SECRETS.variable}`, {
          hint: `not ${SECRETS.variable}`,
          data: { text: `a ${SECRETS.variable} b`, deep: [{ [SECRETS.variable]: SECRETS.variable }] },
        });
      },
    });
    const toolbox = workspace.toolbox({ env: { ...workspace.env, ...env }, tools: [throws] });
    const { error } = await toolbox.call('throws', {});
    expect(error!.data).toEqual({ text: 'a [redacted] b', deep: [{ '[redacted]': '[redacted]' }] });
    expect(leaks(JSON.stringify(error))).toEqual([]);
  });

  spec('UPS-5', 'in a URL or header are not in HTTP errors', async () => {
    const seen: string[] = [];
    const listener = createServer((request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.statusCode = 500;
      response.end(`no: ${request.url} ${request.headers.authorization}`);
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void listener.close());
    const { port } = listener.address() as AddressInfo;
    const workspace = createUpstreamWorkspace();
    mkdirSync(join(workspace.home, '.agents'), { recursive: true });
    writeFileSync(join(workspace.home, 'secret.txt'), SECRETS.literal);
    const url = `http://127.0.0.1:${port}/mcp?key=\${MY_TOKEN}`;
    const far = { url, headers: { Authorization: 'Bearer ${JOINED}', 'X-Key': 'file:~/secret.txt' } };
    writeFileSync(join(workspace.home, '.agents', 'mcp.json'), JSON.stringify({ mcpServers: { far } }));
    await expectSilent(workspace, ['list'], ['doctor'], ['call', 'far_leak'], ['config']);
    expect(seen.join('\n')).toContain(SECRETS.variable);
    expect(seen.join('\n')).toContain(SECRETS.joined);
  });

  spec('UPS-5', 'stay unchanged in the files that contain them', async () => {
    const workspace = createLeaky('leaks');
    const file = join(workspace.home, '.agents', 'mcp.json');
    const before = readFileSync(file, 'utf8');
    await expectSilent(workspace, ['call', 'far_leak'], ['doctor'], ['config']);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(before).toContain('${MY_TOKEN}');
  });
});
