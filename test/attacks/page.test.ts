// The page and recordings: other users of the machine, files exchanged while a call starts, and files of others.

import { appendFileSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect } from 'vitest';
import type { CallOptions, ToolResult } from '../../src/index.js';
import { createToolRoutes } from '../../src/ui/server/tools.js';
import { logFiles } from '../support/audit.js';
import { json, wield } from '../support/cli.js';
import { rounds, THOROUGH } from '../support/effort.js';
import { exchange } from '../support/exchange.js';
import { isRoot, NOT_ROOT } from '../support/machine.js';
import { createModuleWorkspace, moduleText } from '../support/modules.js';
import { eventsOf, openPage } from '../support/page.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../support/pty.js';
import { onEnd } from '../support/share.js';
import { spec, specIf } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const HELLO = '#!/bin/sh\n# @description Say hello.\necho shown\n';

/** Returns the bytes of memory in use, without garbage. */
function memoryInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('the page', () => {
  specIf(
    isRoot && process.platform === 'linux',
    NOT_ROOT,
    'UI-23',
    'refuses other users of the machine, although they know the token',
    async () => {
      const workspace = createWorkspace();
      workspace.script('hello', HELLO);
      const { url, token } = await openPage(workspace);
      const { host, origin, port } = new URL(url);
      const head = [
        `Host: ${host}`,
        `Origin: ${origin}`,
        'Sec-Fetch-Site: same-origin',
        `Authorization: Bearer ${token}`,
      ];
      const request = ['GET /api/session HTTP/1.1', ...head, 'Connection: close', '', ''].join('\r\n');
      // By an IPv4 and an IPv6 socket, from other addresses of this machine, and gone before it can be asked who it is.
      const program = `
        const { connect } = require('node:net');
        const ask = (options, end) => new Promise((resolve) => {
          let text = '';
          const socket = connect({ port: ${port}, ...options }, () => socket[end ? 'end' : 'write'](${JSON.stringify(request)}));
          socket.on('data', (data) => (text += data)).on('close', () => resolve(text.split('\\r\\n')[0])).on('error', () => {});
        });
        const all = [[{ host: '127.0.0.1' }], [{ host: '::ffff:127.0.0.1' }], [{ host: '127.0.0.1', localAddress: '127.0.0.9' }], [{ host: '127.0.0.1' }, true]];
        Promise.all(all.map((one) => ask(...one))).then((lines) => console.log(JSON.stringify(lines)));`;
      const ask = (uid: number) =>
        new Promise<string[]>((resolve, reject) => {
          const { execFile } = process.getBuiltinModule('node:child_process');
          const options = { uid, gid: uid, cwd: '/', env: {} };
          execFile(process.execPath, ['-e', program], options, (error, stdout) =>
            error === null ? resolve(JSON.parse(stdout)) : reject(error),
          );
        });
      expect(await ask(0)).toEqual(Array(4).fill('HTTP/1.1 200 OK'));
      expect(await ask(65_534)).toEqual(Array(4).fill('HTTP/1.1 403 Forbidden'));
    },
  );

  specIf(
    isRoot && process.platform === 'linux',
    'needs root, to be another user',
    'UI-29',
    'is open for its user, however many silent connections others have',
    async () => {
      const workspace = createWorkspace();
      const page = await openPage(workspace);
      const { port } = new URL(page.url);
      // Opens them again whenever they are closed, and reports how many were.
      const program = `
        const { connect } = require('node:net');
        let closed = 0;
        const open = () => connect(${port}, '127.0.0.1').on('error', () => {}).on('data', () => {}).on('close', () => { closed++; setTimeout(open, 5); });
        for (let at = 0; at < 300; at++) open();
        setInterval(() => process.stdout.write(closed + '\\n'), 100);`;
      const { spawn } = process.getBuiltinModule('node:child_process');
      for (const uid of [65_534, 0]) {
        const child = spawn(process.execPath, ['-e', program], { uid, gid: uid, cwd: '/', env: {} });
        onEnd(() => void child.kill('SIGKILL'));
        let closed = 0;
        child.stdout.on('data', (text: Buffer) => {
          closed = Number(String(text).trim().split('\n').at(-1));
        });
        await expect.poll(() => closed, { timeout: 60_000 }).toBeGreaterThan(100);
        for (let at = 0; at < 10; at++) expect((await page.get('/api/session')).status).toBe(200);
        child.kill('SIGKILL');
      }
    },
  );

  spec('UI-28', 'keeps no events for a client that does not read, which is told to fetch everything', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', HELLO);
    await wield(workspace, ['call', 'hello']);
    const page = await openPage(workspace);
    const { host, port } = new URL(page.url);
    const socket = connect(Number(port), '127.0.0.1');
    onEnd(() => void socket.destroy());
    const { token } = page;
    socket.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    let received = '';
    const read = (chunk: Buffer): void => {
      received += chunk.toString('utf8');
    };
    socket.on('data', read);
    await expect.poll(() => received, { timeout: 60_000 }).toContain('"ready"');
    socket.off('data', read).pause();
    const [file] = logFiles(workspace);
    const record = readFileSync(file!, 'utf8');
    const before = memoryInUse();
    // The events of 300,000 calls have 100 MB.
    const calls = rounds(30_000, 300_000);
    for (let at = 0; at < calls; at += 10_000) {
      appendFileSync(file!, record.repeat(10_000));
      await page.get('/api/calls');
    }
    if (THOROUGH) expect(memoryInUse() - before).toBeLessThan(32 * 1024 * 1024);
    received = '';
    socket.on('data', read).resume();
    await expect.poll(() => received.includes('{"type":"reset"}'), { timeout: 60_000 }).toBe(true);
    // What was in the buffers of both ends, and nothing like all of them.
    expect(received.split('"type":"call"').length).toBeLessThan(calls / 2);
    received = '';
    appendFileSync(file!, record);
    await expect.poll(() => received, { timeout: 60_000 }).toContain('"type":"call"');
  });

  spec('UI-7', 'runs the plan that was shown, also if the file is exchanged while the call starts', async () => {
    const workspace = createWorkspace();
    const file = workspace.script('hello', HELLO);
    const page = await openPage(workspace);
    const { digest } = (await page.post('/api/plan', { tool: 'hello', input: {} })).json;
    await exchange(file, HELLO, HELLO.replace('shown', 'other'));
    for (let call = 0; call < rounds(12, 300); call++) {
      const response = await page.post('/api/run', { tool: 'hello', input: {}, digest });
      const [last] = response.status === 200 ? eventsOf(response).slice(-1) : [];
      expect([response.status, last?.result?.content?.[0]?.text ?? '']).not.toEqual([200, 'other\n']);
    }
  });

  spec('UI-7', 'runs nothing if the file is exchanged between its check and the call', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', HELLO);
    const toolbox = workspace.toolbox();
    const call = (ref: string, input: unknown, options?: CallOptions): Promise<ToolResult> => {
      workspace.script('hello', HELLO.replace('shown', 'other'));
      return toolbox.call(ref, input, options);
    };
    const routes = createToolRoutes({ toolbox: { ...toolbox, call } } as never);
    const sent: unknown[] = [];
    const request = { params: {}, signal: new AbortController().signal, send: (event: unknown) => sent.push(event) };
    const body = { tool: 'hello', input: {} };
    const { digest } = (await routes['POST /api/plan']({ ...request, body } as never)) as { digest: string };
    const run = routes['POST /api/run']({ ...request, body: { ...body, digest } } as never);
    await expect(run).rejects.toMatchObject({ code: 'conflict' });
    expect(sent).toEqual([]);
  });
});

const HEAD = { type: 'recording', version: 1 };
const TOOL = { type: 'tool', name: 'hello', description: 'D', input: { type: 'object' } };
const call = (result: object, more: object = {}) => ({
  type: 'call',
  call: 'c1',
  parent: null,
  tool: 'hello',
  input: {},
  result: { ok: true, content: [], meta: {}, ...result },
  ...more,
});

function write(workspace: Workspace, name: string, ...lines: object[]): string {
  return workspace.write(name, [HEAD, TOOL, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
}

describe('a recording', () => {
  spec('UI-24', 'of someone else that is not well-formed is refused with its line, by every command', async () => {
    const workspace = createWorkspace();
    const code = "'); require('node:fs').writeFileSync('owned', ''); ('";
    const results: object[] = [
      { content: [null] },
      { content: [{ type: 'text', text: 5 }] },
      { content: [{ type: 'text' }] },
      { ok: false, error: { code, message: 'M' } },
      { ok: false, error: { code: 'constructor', message: 'M' } },
      { ok: false, error: 'text' },
      { ok: false, error: { code: 'io' } },
      { ok: false },
    ];
    for (const result of results) {
      const file = write(workspace, 'a.ndjson', call(result));
      for (const args of [
        ['replay', file, 'call', 'hello'],
        ['replay', '--export', 'test', file],
        ['diff', file, file],
      ]) {
        const refused = json(await wield(workspace, [...args, '--json']));
        expect([result, args[0], refused.error?.code, refused.error?.message]).toEqual([
          result,
          args[0],
          'invalid_definition',
          expect.stringContaining(':3 is not a line of a recording'),
        ]);
      }
    }
  });

  specIf(hasPty, NO_PTY, 'UI-24 CLI-4', 'does not control the terminal that it is exported to', async () => {
    const workspace = createWorkspace();
    const evil = '\u001b]0;owned\u0007\u009b2J\u202ehello';
    const file = write(workspace, 'a.ndjson', call({}, { tool: evil, input: { a: evil } }));
    const { screen } = await wieldAtTerminal(workspace, ['replay', '--export', 'line', file]);
    expect(screen).toContain('<U+001B>]0;owned<U+0007>');
    expect(/[\u001b\u0007\u009b\u202e]/.test(screen)).toBe(false);
    const piped = await wield(workspace, ['replay', '--export', 'line', file]);
    expect(piped.stdout).toContain(evil);
  });

  spec('UI-13', 'has no secret in the fields of a picture, in several parts, in a definition or a name', async () => {
    const workspace = createModuleWorkspace();
    workspace.config('[env]\npass = ["API_TOKEN"]\n');
    workspace.env.API_TOKEN = 'sk-granted-secret';
    workspace.module(
      'leak.tool.mjs',
      moduleText(
        'leak',
        `({ api_key }) => {
          const token = process.env.API_TOKEN;
          const [a, b] = [api_key.slice(0, 6), api_key.slice(6)];
          return { content: [
            { type: 'image', data: 'aGk=', mimeType: 'image/png', _meta: { note: api_key, token }, annotations: { a: token } },
            { type: 'text', text: a }, { type: 'text', text: b },
            { type: 'resource_link', uri: 'x:' + api_key, name: token },
          ] };
        }`,
      ),
    );
    const run = await wield(workspace, [
      'record',
      'r.ndjson',
      'call',
      'leak',
      '--input',
      '{"api_key":"sk-very-secret"}',
      '--json',
    ]);
    expect([json(run).ok, json(run).error]).toEqual([true, undefined]);
    const text = readFileSync(join(workspace.dir, 'r.ndjson'), 'utf8');
    const parts = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .at(-1).result.content;
    expect(parts[0].data).toBe('aGk=');
    expect(parts.map((part: { text?: string }) => part.text ?? '').join('')).not.toContain('very-secret');
    for (const secret of ['sk-very-secret', 'sk-granted-secret', 'ry-secret']) expect(text).not.toContain(secret);
  });
});
