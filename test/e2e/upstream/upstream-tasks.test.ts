// Calls that a server answers with a task, for clients that know nothing of tasks.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { connectPerson, connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

const SERVER = fileURLToPath(new URL('../../support/task-server.mjs', import.meta.url));

describe.concurrent.each([
  ['2025-11-25', 'newer'],
  ['2026-07-28', 'older'],
] as const)('a server of %s that runs tools as tasks, for a client of the %s version', (version, protocol) => {
  const open = async () => {
    const workspace = createWorkspace();
    const log = join(workspace.home, 'log');
    configureServers(workspace, {
      far: { command: process.execPath, args: [SERVER, version, log], protocol: version },
    });
    const client = await connectPerson(workspace, protocol as ProtocolVersion, 'stdio', ({ message }) => {
      expect(message).toContain('Who?');
      return { action: 'accept', content: { name: 'Ada' } };
    });
    return { client, logged: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []) };
  };
  const textOf = ({ content }: object & { content?: unknown }): string => (content as { text: string }[])[0]!.text;

  spec.thorough('UPS-99', 'is called like any other', async () => {
    const { client } = await open();
    await client.listTools();
    expect(textOf(await client.callTool({ name: 'far_works', arguments: {} }))).toBe('worked');
    expect(textOf(await client.callTool({ name: 'far_asks', arguments: {} }))).toBe('Hello, Ada!');
    await expect(client.callTool({ name: 'far_fails', arguments: {} })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('the disk is full'),
    });
    const stopped = client.callTool({ name: 'far_stops', arguments: {} });
    expect(await stopped.then(textOf, ({ message }: Error) => message)).toMatch(/cancelled/);
  });

  spec('UPS-99', 'is told of a cancelled call', async () => {
    const { client, logged } = await open();
    await client.listTools();
    const stop = new AbortController();
    const waiting = client.callTool({ name: 'far_waits', arguments: {} }, { signal: stop.signal });
    const method = version === '2025-11-25' ? 'tasks/result' : 'tasks/get';
    await until(() => logged().includes(`${method} waits`), 'it is waited for');
    stop.abort();
    await expect(waiting).rejects.toThrow();
    await until(() => logged().includes('tasks/cancel waits'), 'the task is cancelled');
  });
});

spec('UPS-99', 'a tool that its server runs only as a task may be one here', async () => {
  const workspace = createWorkspace();
  const args = [SERVER, '2025-11-25', join(workspace.home, 'log')];
  configureServers(workspace, { far: { command: process.execPath, args, protocol: '2025-11-25' } });
  const client = await connectStdio(workspace, 'older');
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === 'far_works')).toMatchObject({ execution: { taskSupport: 'optional' } });
});
