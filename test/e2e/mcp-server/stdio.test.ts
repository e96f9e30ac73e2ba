// The stdio transport: only protocol messages on stdout, and malformed input.

import { describe, expect } from 'vitest';
import { serveHere } from '../../support/serve.js';
import { type RawSession, serveStdio } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { createUpstreamWorkspace } from '../../support/upstream-workspace.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const GREET = '#!/bin/sh\n# @description Greet.\necho hi\n';
const SLOW = '#!/bin/sh\n# @description Wait.\nsleep 30\n';
const call = (id: unknown, name: string): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
});

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', GREET);
  workspace.script('slow', SLOW);
  return workspace;
}

async function expectServing(server: RawSession): Promise<void> {
  const { result } = await server.request(`alive ${server.lines.length}`, 'tools/call', {
    name: 'greet',
    arguments: {},
  });
  expect(result.content).toEqual([{ type: 'text', text: 'hi\n' }]);
}

const nulls = (server: RawSession): number => server.lines.filter((line) => JSON.parse(line).id === null).length;

describe('stdout', () => {
  spec('SRV-7', 'contains only protocol messages, whatever a tool writes (A56)', async () => {
    const workspace = createTools();
    const forged = '{"jsonrpc":"2.0","id":"forged","result":{"content":[{"type":"text","text":"forged"}]}}';
    workspace.script(
      'forge',
      `#!/bin/bash
# @description Forge frames.
trap '' PIPE
for descriptor in /proc/self/fd/*; do printf '%s\\n' '${forged}' >"$descriptor"; done 2>/dev/null
for number in {3..30}; do { printf '%s\\n' '${forged}' >&"$number"; } 2>/dev/null; done
printf '\\r\\n%s\\r\\n\\x00\\n' '${forged}'
printf '%s\\n' '${forged}' >&2
printf '%s\\n' '${forged}' >/dev/tty 2>/dev/null
exit 0
`,
    );
    const server = serveStdio(workspace);
    await server.initialize();
    await server.request(1, 'tools/list');
    const { result } = await server.request(2, 'tools/call', { name: 'forge', arguments: {} });
    expect(result.content[0].text).toContain('"id":"forged"');
    await server.request(3, 'nothing/known');
    await expectServing(server);
    const known = new Set(['initialize', 1, 2, 3]);
    for (const line of server.lines) {
      const message = JSON.parse(line);
      expect(message.jsonrpc).toBe('2.0');
      const isAnswer = known.has(message.id) || String(message.id).startsWith('alive');
      expect(isAnswer || (message.id === undefined && typeof message.method === 'string'), line).toBe(true);
    }
  });

  spec('SRV-7', 'contains nothing that a module or an upstream server prints (A56)', async () => {
    const workspace = createUpstreamWorkspace({ theirs: { mode: 'noisy' } });
    const forged = '{"jsonrpc":"2.0","id":"forged","result":{}}';
    const print = `console.log(${JSON.stringify(forged)}); process.stdout.write(${JSON.stringify(`${forged}\n`)});
      (await import('node:fs')).writeSync(1, ${JSON.stringify(`${forged}\n`)});`;
    workspace.write(
      '.agents/tools/loud.tool.mjs',
      `${print}
export const loud = { name: 'loud', description: 'Prints.', inputSchema: { type: 'object' },
  execute: async () => { ${print} return 'said'; } };\n`,
    );
    workspace.script('greet', GREET);
    const server = serveStdio(workspace);
    await server.initialize();
    await server.request(1, 'tools/list');
    const { result } = await server.request(2, 'tools/call', { name: 'loud', arguments: {} });
    expect(result.content[0].text).toBe('said');
    await expectServing(server);
    expect(server.lines.map((line) => JSON.parse(line)).filter(({ id }) => id === 'forged')).toEqual([]);
  });

  spec('SRV-7', 'contains no debug lines, which go to stderr', async () => {
    const server = serveStdio(createTools(), { env: { WIELD_LOG: 'debug' } });
    await server.initialize();
    await expectServing(server);
    for (const line of server.lines) expect(JSON.parse(line).jsonrpc).toBe('2.0');
    await expect.poll(() => server.stderr()).toContain('debug');
  });
});

describe('malformed messages', () => {
  spec('SRV-8', 'returns -32700 for invalid JSON, before and after initialize', async () => {
    const server = serveHere(createTools());
    server.send('not json at all');
    expect(await server.receive(({ id }) => id === null)).toMatchObject({ error: { code: -32700 } });
    await server.initialize();
    for (const line of ['{', '{"jsonrpc":"2.0",}', '\u0000\u0001', '[1,', '"\ud800"x']) {
      const before = nulls(server);
      server.send(line);
      await server.receive(() => nulls(server) > before);
      expect(JSON.parse(server.lines.at(-1)!).error.code, line).toBe(-32700);
    }
    server.send('');
    server.send('   ');
    await expectServing(server);
  });

  spec('SRV-8', 'returns -32601 for unknown methods, and errors for invalid parameters', async () => {
    const server = serveHere(createTools());
    await server.initialize();
    expect((await server.request(1, 'no/such/method')).error.code).toBe(-32601);
    expect((await server.request(2, 'tools/call')).error.code).toBeLessThan(0);
    expect((await server.request(3, 'tools/call', { name: 7 })).error.code).toBeLessThan(0);
    server.send({ jsonrpc: '2.0', method: 'notifications/nobody/knows' });
    server.send({ jsonrpc: '2.0', id: 'never asked', result: {} });
    await expectServing(server);
  });

  spec('SRV-8', 'rejects wrong versions, arrays and unusual ids, with the id if possible (A50)', async () => {
    const server = serveHere(createTools());
    await server.initialize();
    const refused: [string, unknown][] = [
      ['{"jsonrpc":"1.0","id":11,"method":"tools/list"}', 11],
      ['{"id":12,"method":"tools/list"}', 12],
      ['{"JSONRPC":"2.0","id":13,"method":"tools/list"}', 13],
      ['[{"jsonrpc":"2.0","id":14,"method":"tools/list"}]', null],
      ['{"jsonrpc":"2.0","id":{},"method":"tools/list"}', null],
      ['{"jsonrpc":"2.0","id":true,"method":"tools/list"}', null],
      ['{"jsonrpc":"2.0","id":null,"method":"tools/list"}', null],
      ['{"jsonrpc":"2.0","id":[1],"method":"tools/list"}', null],
      ['{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}', null],
      ['{"jsonrpc":"2.0","Id":18,"method":"tools/list","id":{}}', null],
      ['{"jsonrpc":"2.0","id":19,"method":"tools/call","params":{"name":"greet","arguments":{"a":1,"a":2}}}', 19],
      ['{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"slow","name":"greet","arguments":{}}}', 23],
      ['{"jsonrpc":"2.0","id":15.5,"method":"tools/list"}', 15.5],
      ['{"jsonrpc":"2.0","id":16,"method":"tools/list","method":"ping"}', 16],
      ['7', null],
      ['null', null],
      [`{"jsonrpc":"2.0","id":17,"method":"tools/list","params":${'{"a":'.repeat(100)}1${'}'.repeat(100)}}`, 17],
    ];
    for (const [line, id] of refused) {
      const before = server.lines.length;
      server.send(line);
      await server.receive(() => server.lines.length > before);
      expect(JSON.parse(server.lines.at(-1)!), line).toMatchObject({ id, error: { code: -32600 } });
    }
    await expectServing(server);
  });

  spec('SRV-8', 'rejects an id that is in use and continues the first call (A49)', async () => {
    const workspace = createTools();
    workspace.script('short', '#!/bin/sh\n# @description Wait a bit.\nsleep 1\necho first\n');
    const server = serveHere(workspace);
    await server.initialize();
    server.send(call(5, 'short'));
    server.send(call(5, 'greet'));
    await server.receive(({ id, error }) => id === 5 && error?.code === -32600);
    const { result } = await server.receive((message) => message.id === 5 && message.result !== undefined);
    expect(result.content).toEqual([{ type: 'text', text: 'first\n' }]);
    expect((await server.request('again', 'tools/list')).result.tools.length).toBeGreaterThan(0);
  });
});

describe('large messages', () => {
  spec('SRV-8', 'rejects and skips a line of 100 MB in bounded memory (A50)', async () => {
    const server = serveStdio(createTools());
    await server.initialize();
    const piece = 'x'.repeat(1024 * 1024);
    const { stdin } = server.child;
    const write = (text: string): Promise<void> => new Promise((resolve) => stdin.write(text, () => resolve()));
    let peak = 0;
    const sendHuge = async (head: string, tail: readonly string[]): Promise<void> => {
      await write(head);
      for (let count = 0; count < 100; count++) {
        await write(piece);
        if (count % 10 === 0) peak = Math.max(peak, server.memory());
      }
      for (const text of tail) await write(text);
    };
    await sendHuge('{"jsonrpc":"2.0","id":21,"method":"tools/list","params":{"a":"', ['"}}\n']);
    expect(await server.receive(({ id }) => id === 21)).toMatchObject({ error: { code: -32600 } });
    // The id comes last, in a separate chunk.
    await sendHuge('{"method":"tools/list","params":{"a":"', ['"},"jsonrpc":"2.0","id":', '22', '}\n']);
    expect(await server.receive(({ id }) => id === 22)).toMatchObject({ error: { code: -32600 } });
    await expectServing(server);
    expect(Math.max(peak, server.memory())).toBeLessThan(250);
  });

  spec('SRV-8', 'ignores an incomplete last line and exits cleanly', async () => {
    const server = serveStdio(createTools());
    await server.initialize();
    server.child.stdin.end('{"jsonrpc":"2.0","id":9,"meth');
    expect(await server.exited).toBe(0);
    expect(server.lines.every((line) => JSON.parse(line).id !== 9)).toBe(true);
  });

  spec('SRV-8', 'answers a request right before the end of input', async () => {
    const server = serveStdio(createTools());
    await server.initialize();
    server.child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'tools/list' })}\n`);
    await server.receive(({ id }) => id === 'last');
    expect(await server.exited).toBe(0);
  });

  spec('SRV-8', 'answers a call that takes a moment after the end of input', async () => {
    const workspace = createTools();
    workspace.script('soon', '#!/bin/sh\n# @description Say it soon.\nsleep 0.05\necho said\n');
    const server = serveStdio(workspace);
    await server.initialize();
    // What a first call loads takes as long as everything else on a busy machine.
    await server.request('first', 'tools/call', { name: 'soon', arguments: {} });
    const call = { jsonrpc: '2.0', id: 'last', method: 'tools/call', params: { name: 'soon', arguments: {} } };
    server.child.stdin.end(`${JSON.stringify(call)}\n`);
    expect((await server.receive(({ id }) => id === 'last')).result.content[0].text).toBe('said\n');
    expect(await server.exited).toBe(0);
  });
});
