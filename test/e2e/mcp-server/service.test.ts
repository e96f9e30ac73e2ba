// A server that is operated: reloads, restarts after a crash, and a reverse proxy in front of it.

import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, vi } from 'vitest';
import { binary } from '../../support/built.js';
import { createIo, runCommand } from '../../support/cli.js';
import { callTool, connectUrl } from '../../support/clients.js';
import { ROOT } from '../../support/documents.js';
import { hasProgram } from '../../support/machine.js';
import { withManaged } from '../../support/managed.js';
import { sleep } from '../../support/processes.js';
import { until } from '../../support/server.js';
import { onEnd } from '../../support/share.js';
import { spec, specIf } from '../../support/spec.js';
import { trustNow } from '../../support/trusted.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const HELLO = '#!/bin/sh\n# @description Says hello.\necho hello\n';

async function serve(workspace: Workspace, args: readonly string[] = []) {
  let announce: (url: string) => void = () => {};
  const url = new Promise<string>((resolve) => {
    announce = resolve;
  });
  const onOutput = (chunk: Uint8Array): void => announce(Buffer.from(chunk).toString('utf8').trim());
  const { io, signal, stderr } = createIo(workspace, { onOutput });
  const ended = runCommand(['serve', '--http', '0', ...args], io);
  onEnd(async () => {
    signal('SIGINT');
    await ended;
  });
  return { url: await url, signal, stderr, ended };
}

const textOf = async (url: string, name: string): Promise<string> => {
  const client = await connectUrl(url, 'older');
  const { content } = await callTool(client, name, {});
  await client.close();
  return content.map(({ text = '' }) => text).join('\n');
};

describe.concurrent('reloads', () => {
  spec('SRV-97 FLT-87', 'an invalid configuration denies every call until it is fixed, and both are logged', () =>
    withManaged({ 'config.d/10-a.toml': '' }, async (workspace) => {
      workspace.script('hello', HELLO);
      trustNow(workspace);
      const { url, stderr, signal } = await serve(workspace);
      const probe = async (path: string) => (await fetch(url.replace('/mcp', path))).status;
      expect(await textOf(url, 'hello')).toContain('hello');
      expect(await probe('/readyz')).toBe(200);
      signal('SIGHUP');
      expect(stderr()).toContain('SIGHUP: tokens and configuration are current');
      workspace.manage('config.d/10-a.toml', '\n[limits]\ntimeout = "soon"\n');
      expect(await textOf(url, 'hello')).toContain('10-a.toml:3');
      expect([await probe('/readyz'), await probe('/healthz')]).toEqual([503, 200]);
      await vi.waitFor(
        () => expect(stderr()).toContain('the configuration is invalid, so every call is denied'),
        20_000,
      );
      signal('SIGHUP');
      expect(stderr()).toMatch(/SIGHUP: the configuration is invalid, so every call is denied: \S+10-a\.toml:3/);
      workspace.manage('config.d/10-a.toml', '');
      expect(await textOf(url, 'hello')).toContain('hello');
      expect(await probe('/readyz')).toBe(200);
      await vi.waitFor(() => expect(stderr()).toContain('the configuration is valid again'), 20_000);
    }),
  );

  spec('SRV-97', 'a configuration that is invalid at the start is logged', async () => {
    const workspace = createWorkspace();
    workspace.config('x = [\n');
    const { stderr } = await serve(workspace);
    await vi.waitFor(() => expect(stderr()).toMatch(/invalid, so every call is denied: \S+config\.toml:\d/));
    workspace.config('');
    await vi.waitFor(() => expect(stderr()).toContain('the configuration is valid again'), 20_000);
  });

  spec('SRV-97', 'rules, trust and users count from the next request, and what needs a restart is said', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', HELLO);
    const { url, stderr, signal } = await serve(workspace);
    expect(await textOf(url, 'hello')).toContain('not trusted');
    trustNow(workspace);
    expect(await textOf(url, 'hello')).toContain('hello');
    workspace.config('[trust]\nrules = ["hello($deny)"]\n');
    expect(await textOf(url, 'hello')).toContain('denied');
    writeFileSync(join(workspace.home, 'ada'), 'a-token-of-ada-only\n');
    workspace.config('[serve.tokens.ada]\nfile = "~/ada"\n');
    await expect(textOf(url, 'hello')).rejects.toThrow();
    signal('SIGHUP');
    expect(stderr()).not.toContain('restart wield');
    workspace.config('[serve.auth]\nissuer = "https://id.example.com"\naudience = "https://wield.example.com"\n');
    signal('SIGHUP');
    expect(stderr()).toContain('the identity providers of [serve] changed: restart wield');
    expect(stderr()).not.toContain('a-token-of-ada-only');
  });
});

describe.concurrent('signals', () => {
  for (const [signal, answer, status] of [
    ['SIGTERM', 'done', 0],
    ['SIGINT', 'cancelled', 130],
  ] as const)
    spec('SRV-97', `${signal} answers running calls: ${answer}`, async () => {
      const workspace = createWorkspace();
      workspace.script(
        'slow',
        '#!/bin/sh\n# @description Waits.\ntouch started\nwhile [ ! -e go ]; do sleep 0.1; done\necho done\n',
      );
      trustNow(workspace);
      const server = await serve(workspace);
      const text = textOf(server.url, 'slow');
      await until(() => existsSync(join(workspace.dir, 'started')), 'the tool runs');
      server.signal(signal);
      if (signal === 'SIGTERM') {
        await vi.waitFor(() => expect(server.stderr()).toContain('waiting for 1 call to end'));
        await expect(fetch(server.url)).rejects.toThrow();
        workspace.write('go', '');
      }
      expect(await text).toContain(answer);
      expect(await server.ended).toBe(status);
    });
});

describe.concurrent('calls without a connection', () => {
  const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const post = (url: string, name: string, signal?: AbortSignal): Promise<Response> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': TASKS,
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    };
    return fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, _meta } }),
      ...(signal && { signal }),
    });
  };
  const start = async (header = '') => {
    const workspace = createWorkspace();
    const wait = 'touch started\nwhile [ ! -e go ]; do sleep 0.1; done\ntouch finished\n';
    workspace.script('slow', `#!/bin/sh\n# @description Waits.\n${header}${wait}`);
    trustNow(workspace);
    return { workspace, server: await serve(workspace) };
  };

  for (const what of ['a task', 'a call whose client has left'] as const)
    spec('SRV-97', `${what} is finished on SIGTERM`, async () => {
      const { workspace, server } = await start();
      if (what === 'a task') expect(await (await post(server.url, 'slow')).text()).toContain('"task"');
      else {
        const client = await connectUrl(server.url, 'older');
        void callTool(client, 'slow', {}).catch(() => {});
        await until(() => existsSync(join(workspace.dir, 'started')), 'the tool runs');
        await client.close();
      }
      server.signal('SIGTERM');
      await vi.waitFor(() => expect(server.stderr()).toContain('waiting for 1 call to end'));
      // Longer than open streams are waited for.
      await sleep(1000);
      workspace.write('go', '');
      expect(await server.ended).toBe(0);
      expect(existsSync(join(workspace.dir, 'finished'))).toBe(true);
    });

  spec('SRV-97', 'a task that waits for approval does not keep the server', async () => {
    const { workspace, server } = await start('# @destructive\n');
    expect(await (await post(server.url, 'slow')).text()).toContain('waits for approval');
    server.signal('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(existsSync(join(workspace.dir, 'started'))).toBe(false);
  });
});

describe('a service', () => {
  specIf(
    process.platform === 'linux' && hasProgram('setsid'),
    'needs setsid; to run: install util-linux',
    'SRV-97',
    'without parent, session and terminal is started again after a crash, and keeps its trust',
    async () => {
      const workspace = createWorkspace();
      workspace.script('hello', HELLO);
      trustNow(workspace);
      const { HOME = '', WIELD_HOME = '' } = workspace.env;
      const start = async (): Promise<{ readonly url: string; readonly pid: number }> => {
        const [out, pidFile] = [join(workspace.home, 'out'), join(workspace.home, 'pid')];
        for (const file of [out, pidFile]) rmSync(file, { force: true });
        // As init starts it: by two forks, in a session of its own, with few variables.
        const line = `echo $$ >"${pidFile}"; exec "${process.execPath}" "${binary()}" serve --http 0 >"${out}" 2>&1 </dev/null`;
        spawn('setsid', ['-f', 'sh', '-c', line], {
          env: { HOME, WIELD_HOME, PATH: '/usr/bin:/bin' },
          cwd: workspace.dir,
          stdio: 'ignore',
        });
        const read = (): string => (existsSync(out) ? readFileSync(out, 'utf8') : '');
        await until(() => /\/mcp\n/.test(read()), 'the service answers');
        const pid = Number(readFileSync(pidFile, 'utf8'));
        onEnd(() => {
          try {
            process.kill(pid, 'SIGKILL');
          } catch {
            // It has ended.
          }
        });
        return { url: /^http\S+/m.exec(read())![0], pid };
      };
      const first = await start();
      expect(await textOf(first.url, 'hello')).toContain('hello');
      process.kill(first.pid, 'SIGKILL');
      const second = await start();
      expect(await textOf(second.url, 'hello')).toContain('hello');
    },
  );

  specIf(
    hasProgram('nginx') && hasProgram('openssl'),
    'needs nginx and openssl; to run: apt-get install nginx-light openssl',
    'SRV-97',
    'streams its answers through nginx, and sees the host that clients use',
    async () => {
      binary();
      const env = { PATH: process.env.PATH, HOME: createWorkspace().home, LANG: 'C.UTF-8' };
      const run = promisify(execFile);
      const { stdout } = await run(process.execPath, [join(ROOT, 'examples/10-service/run.mjs')], { env });
      expect(stdout).toMatch(/nginx: \d+ parts of a stream/);
    },
  );
});
