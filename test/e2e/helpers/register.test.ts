// Tests of registering tools at run time: effective at once, found by every reference, removable.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished } from 'vitest';
import {
  clearAllCaches,
  clearToolCache,
  createCallbackRef,
  emptyGlobals,
  findTool,
  listTools,
  type RegisterToolOptions,
  registerTool,
  unregisterTool,
} from '../../../src/helpers.js';
import { createToolbox, defineTool, type Toolbox, textOf } from '../../../src/index.js';
import { createMcpHttp } from '../../../src/mcp-server/index.js';
import { createSkillWorkspace, MODEL, writeSkill } from '../../support/search.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const saying = (word: string): string => `#!/bin/sh\n# @description Says ${word}.\necho ${word}\n`;
const say = async (toolbox: Toolbox, ref: string, input: object = {}): Promise<string> => {
  const result = await toolbox.call(ref, input);
  return result.error?.code ?? textOf(result).trim();
};

describe('registerTool', () => {
  for (const [door, open] of [
    ['createToolbox', () => createToolbox({ tools: [] })],
    ['createNodeToolbox', () => createWorkspace().toolbox()],
  ] as const) {
    spec('RES-9', `stores every option, in ${door}`, async () => {
      const toolbox = open();
      registerTool(toolbox, {
        name: 'add',
        fn: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
        description: 'Adds.',
        params: {
          type: 'object',
          properties: { a: { type: 'number' }, b: { type: 'number' } },
          required: ['a', 'b'],
        },
        returns: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
        tags: ['Math Tools'],
        metadata: { tags: ['fast'], owner: 'ada' },
        role: 'worker',
        allowedTools: 'git-* bash(command=ls*)',
        src: 'inline://add',
        module: 'src/add.ts',
        content: 'How to add.',
      });
      const tool = await findTool('add', toolbox);
      expect(tool).toMatchObject({
        description: 'Adds.',
        origin: { uri: 'inline://add', owner: 'program', digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
        traits: {
          tags: ['math-tools', 'fast'],
          hidden: false,
          allowedTools: ['git-* bash(command=ls*)'],
          metadata: { owner: 'ada', role: 'worker', module: 'src/add.ts', content: 'How to add.' },
        },
      });
      expect((await toolbox.call('add', { a: 1, b: 2 })).structured).toEqual({ sum: 3 });
      expect((await toolbox.call('inline://add', { a: 1, b: 2 })).structured).toEqual({ sum: 3 });
      expect((await toolbox.call('add', { a: 1 })).error?.code).toBe('invalid_input');
      expect((await toolbox.call('add', { a: 1, b: 2, c: 3 })).error?.code).toBe('invalid_input');
      expect((await listTools(toolbox)).map(({ name }) => name)).toEqual(['add']);
      expect([unregisterTool(toolbox, 'add'), unregisterTool(toolbox, 'add')]).toEqual([true, false]);
      expect(await listTools(toolbox)).toEqual([]);
      expect(await say(toolbox, 'add', { a: 1, b: 2 })).toBe('not_found');
      expect(await say(toolbox, 'inline://add')).toBe('not_found');
    });
  }

  spec('RES-9', 'accepts typed definitions and applies defaults', async () => {
    const toolbox = emptyGlobals();
    registerTool(toolbox, defineTool({ name: 'typed', description: 'T.', execute: () => 'typed' }));
    registerTool(toolbox, { name: 'plain', fn: () => 'plain' });
    expect([await say(toolbox, 'typed'), await say(toolbox, 'plain')]).toEqual(['typed', 'plain']);
    expect(await findTool('plain', toolbox)).toMatchObject({ description: 'plain', origin: { uri: null } });
    expect((await toolbox.call('plain', { any: 1 })).error?.code).toBe('invalid_input');
  });

  spec('RES-9', 'shadows tools on disk at once, after earlier hits and misses too', async () => {
    const workspace = createSkillWorkspace();
    workspace.script('one', saying('disk'));
    writeSkill(`${workspace.dir}/skills/x`, 'disk', ['two']);
    const toolbox = workspace.toolbox();
    await toolbox.list();
    expect(await say(toolbox, 'one')).toBe('disk');
    expect(await say(toolbox, 'two')).toBe('["say","disk"]');
    expect(await say(toolbox, 'three')).toBe('not_found');
    for (const name of ['one', 'two', 'three']) {
      registerTool(toolbox, { name, fn: () => 'code' });
      expect([name, await say(toolbox, name)]).toEqual([name, 'code']);
      expect((await toolbox.list()).filter((tool) => tool.name === name)).toMatchObject([
        { origin: { owner: 'program' } },
      ]);
    }
    expect((await toolbox.catalog.survey()).shadowed.map(({ tool }) => tool.name).sort()).toEqual(['one', 'two']);
    for (const name of ['one', 'two', 'three']) unregisterTool(toolbox, name);
    expect(await say(toolbox, 'one')).toBe('disk');
    expect(await say(toolbox, 'two')).toBe('["say","disk"]');
    expect(await say(toolbox, 'three')).toBe('not_found');
  });

  spec('RES-9', 'hides tools from listings and models by visibility, also in metadata', async () => {
    const toolbox = emptyGlobals();
    registerTool(toolbox, { name: 'a', fn: () => 'a', visibility: 'hidden' });
    registerTool(toolbox, { name: 'b', fn: () => 'b', metadata: { visibility: 'hidden' } });
    expect(await listTools(toolbox)).toEqual([]);
    expect((await listTools(toolbox, { hidden: true })).map(({ name }) => name)).toEqual(['a', 'b']);
    for (const name of ['a', 'b']) {
      expect(await say(toolbox, name)).toBe(name);
      expect((await toolbox.call(name, {}, { caller: MODEL })).error?.code).toBe('not_found');
    }
  });

  spec('RES-9', 'rejects a registered name with conflict and keeps the first tool', async () => {
    const toolbox = createToolbox({ tools: [{ name: 'one', description: 'O.', execute: () => 'first' }] });
    expect(() => registerTool(toolbox, { name: 'one', fn: () => 'second' })).toThrow(
      expect.objectContaining({ code: 'conflict', hint: expect.stringContaining('unregister') }),
    );
    expect(await say(toolbox, 'one')).toBe('first');
  });

  spec('RES-9', 'rejects invalid options with invalid_definition and names the field', () => {
    const toolbox = emptyGlobals();
    const fn = () => 1;
    const wrong: [string, object][] = [
      ['name', { name: 'a b', fn }],
      ['fn', { name: 'a' }],
      ['fn', { name: 'a', fn: 3 }],
      ['parms', { name: 'a', fn, parms: {} }],
      ['visibility', { name: 'a', fn, visibility: 'secret' }],
      ['src', { name: 'a', fn, src: 'https://x' }],
      ['src', { name: 'a', fn, src: 'inline:' }],
      ['role', { name: 'a', fn, role: 3 }],
      ['metadata', { name: 'a', fn, metadata: { f: () => 1 } }],
      ['metadata', { name: 'a', fn, metadata: [] }],
      ['params', { name: 'a', fn, params: { type: 'object', $ref: 'http://x' } }],
      ['returns', { name: 'a', fn, returns: 3 }],
    ];
    for (const [field, options] of wrong) {
      expect(() => registerTool(toolbox, options as RegisterToolOptions)).toThrow(
        expect.objectContaining({ code: 'invalid_definition', data: { field } }),
      );
    }
    const selectors = { name: 'a', fn, allowedTools: ['!x'] };
    expect(() => registerTool(toolbox, selectors)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
  });

  spec('RES-2', 'distinguishes tools of one URI by fragment', async () => {
    const toolbox = emptyGlobals();
    for (const name of ['a', 'b']) registerTool(toolbox, { name, fn: () => name, src: 'mcp://server/all' });
    registerTool(toolbox, { name: 'c', fn: () => 'c', src: 'mcp://server/all#third' });
    expect((await toolbox.call('mcp://server/all', {})).error).toMatchObject({
      code: 'ambiguous',
      data: { names: ['a', 'b'] },
    });
    expect(await say(toolbox, 'mcp://server/all#b')).toBe('b');
    expect(await say(toolbox, 'mcp://server/all#third')).toBe('c');
    expect(await say(toolbox, 'mcp://server/none')).toBe('not_found');
    registerTool(toolbox, { name: 'd', fn: () => 'd', src: 'file:///nowhere/d' });
    expect(await say(toolbox, 'file:///nowhere/d')).toBe('d');
  });
});

spec('RES-10', 'gives callback references a unique name; they are called and removed like any tool', async () => {
  const toolbox = createWorkspace().toolbox();
  const got: unknown[] = [];
  const ref = createCallbackRef(toolbox, 'callback', (input: unknown) => {
    got.push(input);
    return 'heard';
  });
  expect(ref).toMatch(/^callback-[0-9a-f]{8}$/);
  expect(await say(toolbox, ref, { any: [1] })).toBe('heard');
  expect(got).toEqual([{ any: [1] }]);
  expect((await toolbox.call(ref, {}, { caller: MODEL })).ok).toBe(true);
  expect((await listTools(toolbox)).map(({ name }) => name)).toEqual([ref]);
  const other = createCallbackRef(toolbox, 'callback', () => 1, {
    params: { type: 'object', properties: { n: { type: 'integer' } } },
    visibility: 'hidden',
  });
  expect(other).not.toBe(ref);
  expect(await say(toolbox, other, { n: 'x' })).toBe('invalid_input');
  expect((await toolbox.call(other, {}, { caller: MODEL })).error?.code).toBe('not_found');
  expect(unregisterTool(toolbox, ref)).toBe(true);
  expect(await say(toolbox, ref)).toBe('not_found');
  expect(() => createCallbackRef(toolbox, 'not a name', () => 1)).toThrow(
    expect.objectContaining({ code: 'invalid_definition' }),
  );
});

spec('RES-10', 'applies the policy to callback references', async () => {
  const workspace = createWorkspace();
  workspace.config('not toml');
  const toolbox = workspace.toolbox();
  const ref = createCallbackRef(toolbox, 'callback', () => expect.unreachable());
  expect(await say(toolbox, ref)).toBe('denied');
});

spec('HLP-6 HLP-8', 'emptyGlobals returns a new empty toolbox each time', async () => {
  const toolbox = emptyGlobals();
  const { unlisted, ...survey } = await toolbox.catalog.survey();
  expect(survey).toEqual({ tools: [], denied: [], shadowed: [], otherFiles: [], problems: [], skills: [] });
  // These can be called by name.
  expect(unlisted.map(({ name }) => name)).toEqual(['run_code', 'complete_task', 'fail_task', 'wait_task']);
  registerTool(toolbox, { name: 'a', fn: () => 'a' });
  expect(await listTools(emptyGlobals())).toEqual([]);
  clearToolCache(toolbox, 'a');
  clearAllCaches(toolbox);
  // Registered tools are not a cache.
  expect(await say(toolbox, 'a')).toBe('a');
});

describe('watchers', () => {
  spec('RES-9 RES-14 SRV-4', 'are notified of registering and unregistering, in both kinds of toolbox', () => {
    for (const toolbox of [emptyGlobals(), createWorkspace().toolbox()]) {
      let notified = 0;
      const stop = toolbox.catalog.watch(() => notified++);
      registerTool(toolbox, { name: 'a', fn: () => 'a' });
      expect(notified).toBe(1);
      unregisterTool(toolbox, 'nothing');
      expect(notified).toBe(1);
      unregisterTool(toolbox, 'a');
      expect(notified).toBe(2);
      stop();
      registerTool(toolbox, { name: 'a', fn: () => 'a' });
      expect(notified).toBe(2);
    }
  });

  for (const version of ['older', 'newer'] as const) {
    spec('RES-9 SRV-4', `a client of the ${version} protocol version is notified and sees the tool`, async () => {
      const toolbox = createToolbox({
        tools: [{ name: 'first', description: 'F.', execute: () => 'first' }],
      });
      const handler = createMcpHttp(toolbox, { version: '1', access: { host: '127.0.0.1' } });
      onTestFinished(() => handler.close());
      let told = 0;
      let listens = false;
      const client = new Client(
        { name: 'test', version: '1' },
        {
          ...(version === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
          listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => told++ } },
        },
      );
      const ask = async (url: string | URL, init?: RequestInit): Promise<Response> => {
        const headers = new Headers(init?.headers);
        headers.set('host', '127.0.0.1');
        const response = await handler.fetch(new Request(url, { ...init, headers }));
        if (init?.method === 'GET' || String(init?.body).includes('"subscriptions/listen"')) listens = true;
        return response;
      };
      const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), { fetch: ask });
      await client.connect(transport);
      onTestFinished(() => client.close());
      const list = async () => (await client.listTools()).tools.map(({ name }) => name);
      expect(await list()).toEqual(['first']);
      await expect.poll(() => listens).toBe(true);
      registerTool(toolbox, { name: 'second', fn: () => 'second' });
      await expect.poll(() => told).toBeGreaterThan(0);
      expect(await list()).toEqual(['first', 'second']);
      expect(await client.callTool({ name: 'second', arguments: {} })).toMatchObject({
        content: [{ type: 'text', text: 'second' }],
      });
    });
  }
});
