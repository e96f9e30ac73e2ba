// What the server lists: order, pages, cache hints, and which built-in tools.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { serveHere } from '../../support/serve.js';
import { serveStdio, until } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';
import { hasStrace, NO_STRACE } from '../../support/strace.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const tool = (text: string): string => `#!/bin/sh\n# @description ${text}\necho ${text}\n`;
const listNames = async (workspace: Workspace, args?: readonly string[]): Promise<string[]> => {
  const server = serveHere(workspace, args === undefined ? {} : { args });
  await server.initialize();
  const { result } = await server.request('names', 'tools/list');
  return result.tools.map(({ name }: { name: string }) => name);
};

describe('tools/list', () => {
  spec('SRV-2', 'is deterministic', async () => {
    const workspace = createWorkspace();
    for (const name of ['zeta', 'Alpha', 'beta', '_under', '9lives']) workspace.script(name, tool(name));
    const server = serveHere(workspace);
    await server.initialize();
    const first = await server.request(1, 'tools/list');
    const names = first.result.tools.map(({ name }: { name: string }) => name);
    expect(names.splice(-2)).toEqual(['query_result', 'read_result']);
    expect(names).toEqual([...names].sort());
    expect(names).toHaveLength(5);
    const second = await server.request(2, 'tools/list');
    expect(second.result).toEqual(first.result);
  });

  spec('SRV-80', 'keeps the dialect that an author wrote, and omits the one that a library generates', async () => {
    const workspace = createWorkspace();
    const $schema = 'https://json-schema.org/draft/2020-12/schema';
    const written = JSON.stringify({ $schema, type: 'object', properties: {} });
    const generated = 'z.object({ name: z.string() })';
    for (const [name, schema] of Object.entries({ written, generated }))
      workspace.write(
        `.agents/tools/${name}.tool.mjs`,
        `import { defineTool } from 'wield';\nimport { z } from 'zod';\n` +
          `export default defineTool({ name: '${name}', description: 'x', inputSchema: ${schema}, execute: () => 'x' });\n`,
      );
    const server = serveHere(workspace, { args: ['--trust'] });
    await server.initialize();
    const { result } = await server.request(1, 'tools/list');
    const find = (wanted: string) => result.tools.find(({ name }: { name: string }) => name === wanted).inputSchema;
    expect(find('written')).toMatchObject({ $schema });
    expect(find('generated')).not.toHaveProperty('$schema');
  });

  spec.thorough('SRV-2', 'returns every tool once in pages; an invalid cursor is -32602', async () => {
    const workspace = createWorkspace();
    for (let index = 0; index < 1203; index++) {
      workspace.script(`t${String(index).padStart(4, '0')}`, tool('One of many.'));
    }
    const server = serveHere(workspace);
    await server.initialize();
    const first = await server.request(1, 'tools/list');
    expect(first.result.tools).toHaveLength(1000);
    const second = await server.request(2, 'tools/list', { cursor: first.result.nextCursor });
    expect(second.result.tools).toHaveLength(205);
    expect(second.result.nextCursor).toBeUndefined();
    const names = [...first.result.tools, ...second.result.tools].map(({ name }: { name: string }) => name);
    expect(names.splice(-2)).toEqual(['query_result', 'read_result']);
    expect(new Set(names).size).toBe(1203);
    expect(names).toEqual([...names].sort());
    for (const [id, cursor] of ['nonsense', 'from:-1', 'from:99999', 'from:1e3', ''].entries()) {
      const answer = await server.request(`bad ${id}`, 'tools/list', { cursor });
      expect(answer.error, cursor).toMatchObject({ code: -32602 });
    }
  });

  spec('SRV-2', 'returns cache hints in the newer protocol version', async () => {
    const workspace = createWorkspace();
    workspace.script('one', tool('One.'));
    const client = await connectStdio(workspace, 'newer');
    const { ttlMs, cacheScope } = (await client.listTools()) as { ttlMs?: number; cacheScope?: string };
    expect(ttlMs).toBeGreaterThan(0);
    expect(cacheScope).toBe('private');
  });

  specIf(hasStrace, NO_STRACE, 'SRV-2', 'starts no process', async () => {
    const workspace = createWorkspace();
    workspace.script('one', tool('One.'));
    const trace = join(workspace.home, 'trace');
    const child = spawn(
      'strace',
      ['-f', '-qq', '-e', 'trace=execve', '-o', trace, process.execPath, binary(), 'serve', '--trust'],
      { cwd: workspace.dir, env: workspace.env },
    );
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString('utf8');
    });
    const send = (message: object): boolean => child.stdin.write(`${JSON.stringify(message)}\n`);
    send({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    });
    send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    send({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    await until(() => stdout.includes('"one"'), 'the list came');
    const started = (): string[] => readFileSync(trace, 'utf8').match(/execve\("[^"]+"/g) ?? [];
    expect(started()).toEqual([`execve("${process.execPath}"`]);
    // A call does start one, so the trace works.
    send({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'one', arguments: {} } });
    await until(() => started().some((line) => /\/(?:ba|da)?sh"/.test(line)), 'the call was traced');
    child.stdin.end();
  });

  spec('SRV-2', 'leaves the server without child processes', async () => {
    const workspace = createWorkspace();
    workspace.script('one', tool('One.'));
    const server = serveStdio(workspace);
    await server.initialize();
    await server.request(1, 'tools/list');
    const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim();
    expect(children).toBe('');
  });
});

describe('offered tools', () => {
  spec('SRV-14 SRV-2', 'are the user’s tools, query_result and read_result, but no other built-in tools', async () => {
    const workspace = createWorkspace();
    workspace.script('mine', tool('Mine.'));
    workspace.script('unseen', `#!/bin/sh\n# @description Hide.\n# @hidden\necho\n`);
    expect(await listNames(workspace)).toEqual(['mine', 'query_result', 'read_result']);
    const server = serveHere(workspace);
    await server.initialize();
    const { error } = await server.request(1, 'tools/call', { name: 'workdir', arguments: {} });
    expect(error).toMatchObject({ code: -32602, data: { 'wield/error': { code: 'not_found' } } });
    const called = json(await wield(workspace, ['call', 'workdir', '--json']));
    expect(called.content).toEqual([{ type: 'text', text: workspace.dir }]);
  });

  spec('SRV-14', 'include built-in tools named by --with, which can be called', async () => {
    const workspace = createWorkspace();
    workspace.script('mine', tool('Mine.'));
    expect(await listNames(workspace, ['--with', 'workdir'])).toEqual([
      'workdir',
      'mine',
      'query_result',
      'read_result',
    ]);
    const server = serveHere(workspace, { args: ['--with', 'workdir'] });
    await server.initialize();
    const { result } = await server.request(1, 'tools/call', { name: 'workdir', arguments: {} });
    expect(result.content).toEqual([{ type: 'text', text: workspace.dir }]);
  });

  spec('SRV-14 SRV-4', "include built-in tools named by the user's configuration, without a restart", async () => {
    const workspace = createWorkspace();
    workspace.script('mine', tool('Mine.'));
    workspace.config('[builtin]\noffer = []\n');
    const server = serveHere(workspace);
    await server.initialize();
    await server.request(1, 'tools/list');
    workspace.config('[builtin]\noffer = ["workdir"]\n');
    await server.receive(({ method }) => method === 'notifications/tools/list_changed');
    const { result } = await server.request(2, 'tools/list');
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual([
      'workdir',
      'mine',
      'query_result',
      'read_result',
    ]);
    // A project cannot offer built-in tools.
    const other = createWorkspace();
    other.write('.agents/config.toml', '[builtin]\noffer = ["workdir"]\n');
    expect(await listNames(other)).toEqual(['query_result', 'read_result']);
  });
});
