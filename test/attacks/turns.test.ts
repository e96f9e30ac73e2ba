// Large, wide and deep values from models, servers, tools and programs: others are served meanwhile, and nothing is lost.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createToolbox, textOf } from '../../src/index.js';
import { listen } from '../support/http.js';
import { leastBusy, serveMeasured } from '../support/measured.js';
import { createProgramWorkspace, returned, runAsModel } from '../support/programs.js';
import type { Message, StdioServer } from '../support/server.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

// In units of loop-delay.mjs, each a few milliseconds of work.
const MAX_BUSY = 45;

// Expressions for texts of JSON, each of less than 16 MiB.
const SHAPES: Readonly<Record<string, string>> = {
  keys: `JSON.stringify(Object.fromEntries(Array.from({ length: 150000 }, (_, at) => ['key' + at, at])))`,
  strings: `JSON.stringify(Array.from({ length: 600000 }, (_, at) => 's' + at))`,
  numbers: `JSON.stringify(Array.from({ length: 900000 }, (_, at) => at))`,
  records: `JSON.stringify(Array.from({ length: 60000 }, (_, id) => ({ id, name: 'n' + id, tags: [id, null] })))`,
  objects: `JSON.stringify(Array.from({ length: 200000 }, (_, at) => ({ ['k' + at]: at })))`,
  arrays: `'[' + '[],'.repeat(1000000) + '[]]'`,
  deep: `'['.repeat(2000000) + ']'.repeat(2000000)`,
  long: `JSON.stringify({ ['k'.repeat(1000000)]: 'v'.repeat(4000000) })`,
};

// A server that answers with a shape, as structured content or as text, or with text that it is given.
const SERVER = `import { createInterface } from 'node:readline';
const shape = (name) => ({ ${Object.entries(SHAPES)
  .map(([name, code]) => `${name}: () => ${code}`)
  .join(',\n')} })[name]();
const tool = (name) => ({ name, description: name, inputSchema: { type: 'object' } });
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = (result) => process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":' + result + '}\\n');
  if (method === 'initialize')
    answer(JSON.stringify({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }));
  else if (method === 'tools/list') answer(JSON.stringify({ tools: ['structured', 'said', 'raw'].map(tool) }));
  else if (method !== 'tools/call') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'x' } }) + '\\n');
  else if (params.name === 'raw') answer(params.arguments.text);
  else if (params.name === 'said') answer(JSON.stringify({ content: [{ type: 'text', text: shape(params.arguments.shape) }] }));
  else answer('{"content":[],"structuredContent":{"data":' + shape(params.arguments.shape) + '}}');
});
`;

function writeServers({ home }: Workspace, mcpServers: object): void {
  mkdirSync(join(home, '.agents'), { recursive: true });
  writeFileSync(join(home, '.agents/mcp.json'), JSON.stringify({ mcpServers }));
}

function createServerWorkspace(): Workspace {
  const workspace = createWorkspace();
  workspace.write('server.mjs', SERVER);
  const entry = { command: process.execPath, args: [`${workspace.dir}/server.mjs`] };
  writeServers(workspace, { big: entry });
  return workspace;
}

const call = (server: StdioServer, id: string, name: string, args: unknown): Promise<Message> =>
  server.request(id, 'tools/call', { name, arguments: args });

const textIn = ({ result }: Message): string =>
  (result as { content: { text?: string }[] }).content.map(({ text = '' }) => text).join('');

describe('answers', () => {
  spec(
    'TOOL-24 UPS-104',
    'of a server of any shape keep nobody waiting, and are stored',
    async () => {
      const { server, busy } = await serveMeasured(createServerWorkspace());
      for (const name of ['structured', 'said']) await call(server, `warm ${name}`, `big_${name}`, { shape: 'long' });
      const measured: [string, number][] = [];
      for (const shape of Object.keys(SHAPES)) {
        for (const name of ['structured', 'said']) {
          const least = await leastBusy(busy, MAX_BUSY, async (id) => {
            const answer = await call(server, `${name} ${shape} ${id}`, `big_${name}`, { shape });
            // A value with few properties is structured content, without a text.
            if (name === 'structured' && shape === 'long') expect(answer.result.structuredContent).toBeDefined();
            else expect([name, shape, textIn(answer)]).toEqual([name, shape, expect.stringMatching(/stored as r_/)]);
          });
          measured.push([`${name} ${shape}`, least]);
        }
      }
      expect(measured.filter(([, longest]) => longest >= MAX_BUSY)).toEqual([]);
    },
    300_000,
  );

  spec('UPS-104', 'with the same key twice, or too many parts, are refused', async () => {
    const toolbox = createServerWorkspace().toolbox({ trust: true });
    const raw = async (text: string) => (await toolbox.call('big_raw', { text })).error;
    const twice = [
      '{"content":[],"content":[{"type":"text","text":"b"}]}',
      '{"content":[],"structuredContent":{"a":{"b":1,"b":2}}}',
      '{"content":[],"structuredContent":{"a":1,"\\u0061":2}}',
    ];
    for (const text of twice)
      expect(await raw(text)).toMatchObject({
        code: 'tool_failed',
        message: expect.stringContaining('twice in one object'),
      });
    const parts = `{"content":[${Array(40_000).fill('{"type":"text","text":"x"}').join(',')}]}`;
    expect(await raw(parts)).toMatchObject({ message: expect.stringContaining('more than 100,000 values') });
    // Text with colons, quotes and backslashes is not structure.
    const odd = JSON.stringify({ content: [{ type: 'text', text: '{"a":1,"a":2}\\\\":,[[[' }] });
    expect(await raw(odd)).toBe(undefined);
  });

  spec('UPS-104', 'over HTTP are read the same way, also as events in several lines', async () => {
    const large = `{"data":{${Array.from({ length: 30_000 }, (_, at) => `"k${at}":${at}`).join(',\n')}}}`;
    const results: Record<string, string> = {
      twice: '{"content":[],"structuredContent":{"a":1,"a":2}}',
      large: `{"content":[],"structuredContent":${large}}`,
      plain: '{"content":[{"type":"text","text":"fine"}]}',
    };
    const served = await listen((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        if (request.method !== 'POST') return response.writeHead(405).end();
        const { id, method, params } = JSON.parse(body) as { id?: unknown; method: string; params: { name: string } };
        if (id === undefined) return response.writeHead(202).end();
        const server = {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 's', version: '1' },
        };
        const tools = Object.keys(results).flatMap((name) => [name, `${name}_event`]);
        const result =
          method === 'initialize'
            ? JSON.stringify(server)
            : method === 'tools/list'
              ? JSON.stringify({ tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) })
              : results[params?.name?.replace('_event', '')];
        const key = result === undefined ? '"error":{"code":-32601,"message":"x"}' : `"result":${result}`;
        const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${key}}`;
        const isEvent = params?.name?.endsWith('_event');
        response.writeHead(200, { 'content-type': isEvent ? 'text/event-stream' : 'application/json' });
        response.end(
          isEvent
            ? `event: message\r\n${text
                .split('\n')
                .map((line) => `data: ${line}\r\n`)
                .join('')}\r\n`
            : text,
        );
      });
    });
    const workspace = createWorkspace();
    writeServers(workspace, { far: { url: `${served.origin}/mcp` } });
    const toolbox = workspace.toolbox({ trust: true });
    for (const way of ['', '_event']) {
      const { error } = await toolbox.call(`far_twice${way}`, {});
      expect([way, error?.message]).toEqual([way, expect.stringContaining('twice in one object')]);
      expect(textOf(await toolbox.call(`far_plain${way}`, {}))).toBe('fine');
      const stored = await toolbox.call(`far_large${way}`, {}, { full: true });
      expect([way, stored.structured]).toEqual([way, undefined]);
      expect(JSON.parse(textOf(stored))).toEqual(JSON.parse(large));
    }
  });

  spec.thorough(
    'TOOL-24 COD-4',
    'of programs of any shape keep nobody waiting, and are stored',
    async () => {
      const { server, busy } = await serveMeasured(createProgramWorkspace(), ['--trust', '--mode', 'code']);
      await call(server, 'warm', 'run_code', { code: 'return 1' });
      const codes = {
        keys: `const all = {}; for (let at = 0; at < 200000; at++) all['key' + at] = at; return all`,
        strings: `return Array.from({ length: 200000 }, (_, at) => 's' + at)`,
        text: `return 'x'.repeat(1e7)`,
        calls: `const text = Array.from({ length: 60000 }, (_, at) => at);
          return (await Promise.allSettled([1, 2, 3, 4].map(() => tools.count({ text })))).map(({ reason }) => reason.code).concat('x'.repeat(20000))`,
      };
      const measured: [string, number][] = [];
      for (const [name, code] of Object.entries(codes)) {
        const least = await leastBusy(busy, MAX_BUSY, async (id) => {
          const answer = await call(server, `${name} ${id}`, 'run_code', { code });
          expect([name, textIn(answer)]).toEqual([name, expect.stringMatching(/stored as r_/)]);
        });
        measured.push([name, least]);
      }
      expect(measured.filter(([, longest]) => longest >= MAX_BUSY)).toEqual([]);
    },
    300_000,
  );

  spec.thorough(
    'TOOL-24 COD-3',
    'that are large are text to people and programs, and a lack of memory is named',
    async () => {
      const workspace = createProgramWorkspace();
      workspace.script('much', shellScript(`printf '['; seq -s , 1 150000 | tr -d '\\n'; printf ']'`));
      const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
      const all = await runAsModel(toolbox, `return Array.from({ length: 150000 }, (_, at) => at)`, { full: true });
      expect([all.error, (all.structured as { value?: unknown }).value]).toEqual([undefined, undefined]);
      expect(JSON.parse(textOf(all))).toHaveLength(150_000);
      expect(returned(await runAsModel(toolbox, `return (await (await tools.much()).json()).length`))).toBe(150_000);
      const input = await runAsModel(toolbox, `return tools.count({ all: Array(150000).fill(1) })`);
      expect(input.error).toMatchObject({ code: 'too_large', message: expect.stringContaining('100,000 values') });
      for (const code of [
        `const all = []; for (;;) all.push({ ['k' + all.length]: [] })`,
        `let all = {}; for (let at = 0; ; at++) all['key' + at] = { at }`,
        `const again = (value) => again([value, new Error('x'.repeat(1e6))]); for (let all = []; ; ) all.push('x'.repeat(1e6) + all.length)`,
      ])
        expect((await runAsModel(toolbox, code)).error, code).toMatchObject({ data: { limit: 'code.memory' } });
      const long = await runAsModel(toolbox, `return 'x'.repeat(2e7)`);
      expect(long.error).toMatchObject({ message: expect.stringContaining('more than 16 MiB') });
    },
  );
});

describe('inputs', () => {
  const parameters = { type: 'object', properties: { v: {}, text: { type: 'string' } } };
  const names = ['denied', 'paths', 'split', 'flags'];
  const mappings: Readonly<Record<string, object>> = {
    denied: { param: 'v', denyPattern: '^(a|b)*secret$' },
    paths: { param: 'v', readPath: true },
    split: { param: 'text', split: true },
    flags: { param: 'v', kind: 'flag', flag: '--v' },
  };

  function createCommandWorkspace(): Workspace {
    const workspace = createWorkspace();
    workspace.write('.agents/skills/s/SKILL.md', '---\nname: s\ndescription: x\n---\n');
    workspace.write(
      '.agents/skills/s/tools.json',
      JSON.stringify({
        tools: names.map((name) => ({ name, description: 'x', parameters })),
        allowlist: { true: [''] },
        execution: names.map((tool) => ({ tool, binary: 'true', subcommand: '', args: [mappings[tool]] })),
      }),
    );
    return workspace;
  }

  const strings = (count: number): string[] => Array.from({ length: count }, (_, at) => `s${at}`);
  const INPUTS: readonly [tool: string, input: object, code: RegExp][] = [
    ['denied', { v: strings(300_000) }, /^too_large$/],
    ['denied', { v: strings(9000) }, /^too_large$/],
    ['denied', { v: 'x '.repeat(400_000) }, /^too_large$/],
    ['paths', { v: strings(20_000) }, /^too_large$/],
    ['split', { text: 'w '.repeat(1_000_000) }, /^too_large$/],
    ['flags', { v: strings(90_000) }, /^too_large$/],
    ['flags', { v: Object.fromEntries(strings(60_000).map((key) => [key, 1])) }, /^too_large$/],
    ['flags', { v: Array(90_000).fill([]) }, /^too_large$/],
  ];

  spec(
    'TOOL-24 TJS-29',
    'with many values are refused before they keep anybody waiting',
    async () => {
      const { server, busy } = await serveMeasured(createCommandWorkspace());
      for (const name of names) await call(server, `warm ${name}`, name, { v: 'x', text: 'x' });
      const measured: [string, number][] = [];
      for (const [at, [name, input, code]] of INPUTS.entries()) {
        const least = await leastBusy(busy, MAX_BUSY, async (id) => {
          const answer = await call(server, `${name} ${at} ${id}`, name, input);
          const { result, error } = answer as {
            result?: { _meta?: Record<string, { code?: string }> };
            error?: { message: string };
          };
          const got =
            result?._meta?.['wield/error']?.code ??
            (error?.message.includes('more than') ? 'too_large' : error?.message);
          expect([name, at, got]).toEqual([name, at, expect.stringMatching(code)]);
        });
        measured.push([`${name} ${at}`, least]);
      }
      expect(measured.filter(([, longest]) => longest >= MAX_BUSY)).toEqual([]);
    },
    300_000,
  );

  spec('TOOL-24', 'of calls in the program itself have the same limits', async () => {
    const tool = { name: 'size', description: 'x', inputSchema: { type: 'object' }, execute: () => 'ok' };
    const toolbox = createToolbox({ tools: [tool] });
    const codeOf = async (v: unknown) => (await toolbox.call('size', { v })).error?.code;
    expect(await codeOf(Array(99_000).fill(1))).toBe(undefined);
    expect(await codeOf(Array(100_001).fill(1))).toBe('too_large');
    expect(await codeOf(Object.fromEntries(strings(24_000).map((key) => [key, 1])))).toBe(undefined);
    expect(await codeOf(Object.fromEntries(strings(26_000).map((key) => [key, 1])))).toBe('too_large');
  });

  spec('TJS-29 TJS-26', 'up to the limits are used, and a denied one is found among many', async () => {
    const toolbox = createCommandWorkspace().toolbox({ trust: true });
    expect((await toolbox.call('paths', { v: strings(200) })).error).toBe(undefined);
    expect((await toolbox.call('split', { text: 'w '.repeat(9000) })).error).toBe(undefined);
    expect((await toolbox.call('flags', { v: strings(4000) })).error).toBe(undefined);
    expect((await toolbox.call('denied', { v: strings(300) })).error).toBe(undefined);
    const found = await toolbox.call('denied', { v: [...strings(300), 'absecret'] });
    expect(found.error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('denies it') });
  });
});
