// How a server ends: with its client, by a signal or killed; no process may be left.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { binary } from '../../support/built.js';
import { some } from '../../support/effort.js';
import { patience } from '../../support/patience.js';
import { processesWith, sleep } from '../../support/processes.js';
import { type StdioServer, serveHttp, serveStdio, until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

// Loaded machines are slow; what is promised is two seconds.
const PROMISED_MS = 2000;
const SLACK_MS = 40_000;

interface Waiting {
  readonly workspace: Workspace;
  /** Part of the command line of every process that the tool starts. */
  readonly mark: string;
  started(): number;
  late(): number;
}

// Each run starts a child that left its group and its session; both would leave a file behind once they may.
function createWaiting(): Waiting {
  const workspace = createWorkspace();
  const mark = join(workspace.dir, 'waiting');
  workspace.write('started/keep', '');
  workspace.write('late/keep', '');
  workspace.script(
    'wait',
    `#!/bin/sh
# @description Wait, also in a child process, and ignore signals.
# @param *n integer Which
trap '' TERM
wait_and_write='while [ -d "$1" ] && [ ! -e "$1/go" ]; do sleep 0.2; done; touch "$1/late/$2"; sleep 600'
setsid sh -c "trap '' TERM HUP; touch \\"\\$1/started/\\$2\\"; $wait_and_write" ${mark} "$PWD" "$WIELD_PARAM_N" &
sh -c "$wait_and_write" ${mark} "$PWD" "direct-$WIELD_PARAM_N"
`,
  );
  const count = (name: string): number => readdirSync(join(workspace.dir, name)).length - 1;
  return { workspace, mark, started: () => count('started'), late: () => count('late') };
}

async function startCalls(server: StdioServer, waiting: Waiting, calls: number): Promise<void> {
  await server.initialize();
  for (let n = 0; n < calls; n++) {
    server.send({ jsonrpc: '2.0', id: n, method: 'tools/call', params: { name: 'wait', arguments: { n } } });
  }
  await until(() => waiting.started() === calls, 'all tools run');
}

async function expectNothingLeft({ workspace, mark, late }: Waiting): Promise<void> {
  // Their children have the workspace in their environment instead.
  const left = () => [...processesWith(mark), ...processesWith(workspace.dir)];
  await until(() => left().length === 0, 'no process is left');
  workspace.write('go', '');
  await sleep(600);
  expect(late()).toBe(0);
}

describe('a client that disconnects', () => {
  spec('SRV-8', 'ends server and tools by closing stdin (F23)', async () => {
    const waiting = createWaiting();
    const server = serveStdio(waiting.workspace);
    await startCalls(server, waiting, 3);
    const began = performance.now();
    server.child.stdin.end();
    expect(await server.exited).toBe(0);
    expect(performance.now() - began).toBeLessThan(patience(PROMISED_MS + SLACK_MS));
    await expectNothingLeft(waiting);
  });

  spec.thorough('SRV-8', 'ends server and tools when it is killed', async () => {
    const waiting = createWaiting();
    const client = spawn(
      process.execPath,
      [
        '-e',
        `const { spawn } = require('node:child_process');
         const server = spawn(process.execPath, [${JSON.stringify(binary())}, 'serve', '--trust'], { stdio: ['pipe', 'pipe', 'ignore'] });
         const send = (message) => server.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
         server.stdout.resume();
         send({ id: 'i', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });
         send({ method: 'notifications/initialized' });
         for (let n = 0; n < 3; n++) send({ id: n, method: 'tools/call', params: { name: 'wait', arguments: { n } } });
         setInterval(() => {}, 1000);`,
      ],
      { cwd: waiting.workspace.dir, env: waiting.workspace.env, stdio: 'ignore' },
    );
    onTestFinished(() => {
      client.kill('SIGKILL');
    });
    await until(() => waiting.started() === 3, 'all tools run');
    client.kill('SIGKILL');
    const began = performance.now();
    await until(() => processesWith(waiting.workspace.home).length === 0, 'server and tools are gone');
    expect(performance.now() - began).toBeLessThan(patience(PROMISED_MS + SLACK_MS));
    await expectNothingLeft(waiting);
  });

  spec.thorough('SRV-8', 'ends the server at the next response if it closed stdout (F24)', async () => {
    const waiting = createWaiting();
    const server = serveStdio(waiting.workspace);
    await startCalls(server, waiting, 1);
    server.child.stdout.destroy();
    server.send({ jsonrpc: '2.0', id: 'next', method: 'tools/list' });
    expect(await server.exited).toBe(0);
    await expectNothingLeft(waiting);
  });
});

describe('signals', () => {
  for (const [signal, status] of some(
    [
      ['SIGTERM', 0],
      ['SIGHUP', 0],
      ['SIGINT', 130],
    ] as const,
    2,
  )) {
    spec('SRV-8', `${signal} ends the server and its running calls (F22)`, async () => {
      const waiting = createWaiting();
      const server = serveStdio(waiting.workspace);
      await startCalls(server, waiting, 3);
      server.child.kill(signal);
      expect(await server.exited).toBe(status);
      await expectNothingLeft(waiting);
    });
  }

  spec('SRV-8 SRV-97', 'SIGTERM ends an HTTP server after its tools, and a second one ends both (F22)', async () => {
    const waiting = createWaiting();
    const server = await serveHttp(waiting.workspace);
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'wait',
        arguments: { n: 0 },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    };
    const answer = fetch(server.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'wait',
      },
      body: JSON.stringify(body),
    }).then((response) => response.text());
    answer.catch(() => {});
    await until(() => waiting.started() === 1, 'the tool runs');
    server.child.kill('SIGTERM');
    await until(() => server.stderr().includes('waiting for 1 call to end'), 'the server waits');
    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(143);
    await expectNothingLeft(waiting);
  });

  spec(
    'SRV-8',
    'SIGKILL with 50 running tools leaves no process and no later effect (F05)',
    async () => {
      const waiting = createWaiting();
      const server = serveStdio(waiting.workspace);
      await startCalls(server, waiting, 50);
      server.child.kill('SIGKILL');
      expect(await server.exited).toBe('SIGKILL');
      await expectNothingLeft(waiting);
      await until(() => processesWith(`helper/main.cjs\0${server.pid}-`).length === 0, 'the helper is gone');
    },
    120_000,
  );

  spec('SRV-8', 'the tools of these tests do write a file if they are not ended', async () => {
    const waiting = createWaiting();
    const server = serveStdio(waiting.workspace);
    await startCalls(server, waiting, 1);
    waiting.workspace.write('go', '');
    await until(() => waiting.late() === 2, 'both processes wrote');
  });
});

describe('a slow reader', () => {
  const BIG = '#!/bin/sh\n# @description Print 2 MB.\nhead -c 2000000 /dev/zero | tr "\\0" x\n';

  spec.thorough('SRV-8', 'delays its own calls in bounded memory and gets every response (F24)', async () => {
    const workspace = createWorkspace();
    // Returns large results inline.
    workspace.config('[limits]\nconcurrent = 4\n[results]\ninline = 100000000\n');
    workspace.script('big', BIG);
    const server = serveStdio(workspace);
    await server.initialize();
    server.child.stdout.pause();
    const calls = 60;
    for (let id = 0; id < calls; id++) {
      server.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'big', arguments: {} } });
    }
    let peak = 0;
    for (let look = 0; look < 20; look++) {
      await sleep(150);
      peak = Math.max(peak, server.memory());
    }
    expect(peak).toBeLessThan(250);
    server.child.stdout.resume();
    for (let id = 0; id < calls; id++) {
      const { result } = await server.receive((message) => message.id === id);
      expect(result.content[0].text).toHaveLength(2_000_000);
    }
  });

  for (const [how, end] of some(
    [
      ['closes its input', (server: StdioServer): void => void server.child.stdin.end()],
      ['sends SIGTERM', (server: StdioServer): void => void server.child.kill('SIGTERM')],
    ] as const,
    1,
  )) {
    spec('SRV-8', `that never reads and ${how} does not keep the server alive`, async () => {
      const workspace = createWorkspace();
      workspace.script('big', BIG);
      const server = serveStdio(workspace);
      await server.initialize();
      server.child.stdout.pause();
      server.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'big', arguments: {} } });
      await sleep(1000);
      const began = performance.now();
      end(server);
      await server.exited;
      expect(performance.now() - began).toBeLessThan(patience(PROMISED_MS + SLACK_MS));
    });
  }
});
