// The package's help for tests: a synchronous toolbox of exactly the given tools, with fakes around it.

import { describe, expect } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/index.js';
import {
  createFakeClock,
  createFakeUpstreams,
  createMemoryStore,
  createTestContext,
  createTestToolbox,
  expectError,
  expectOk,
} from '../../../src/testing.js';
import { spec } from '../../support/spec.js';

const clock = createFakeClock(1000);

const remember = defineTool({
  name: 'remember',
  description: 'Keep a note.',
  inputSchema: z.object({ key: z.string().min(1), text: z.string().default('nothing') }),
  outputSchema: z.object({ keys: z.array(z.string()) }),
  execute: async ({ key, text }, { store }) => {
    clock.advance(250);
    await store!.documents.write(key, text);
    return { keys: (await store!.documents.list()).map(({ path }) => path) };
  },
});

const ask = defineTool({
  name: 'ask',
  description: 'Ask someone, then a server.',
  execute: async (_input, { ask: question, mcp, toolbox }) => {
    const mail = await mcp!.call('mail', 'send', { to: await question('Whom?') });
    const inner = await toolbox.call('remember', {});
    return [mail.structured, inner.error?.code, await mcp!.list()];
  },
});

describe('createMemoryStore', () => {
  spec('MOD-11', 'says at once which path is none, and which stands twice', async () => {
    for (const [path, code] of [
      ['../secret', 'path_escape'],
      ['', 'invalid_input'],
    ] as const) {
      const make = () => createMemoryStore({ fine: 'one', [path]: 'two' });
      expect(make).toThrow(expect.objectContaining({ code, hint: expect.stringContaining('notes/today.md') }));
    }
    expect(() => createMemoryStore({ 'a/b': 'one', 'a//b': 'two' })).toThrow(
      expect.objectContaining({ code: 'path_conflict' }),
    );
    const { documents } = createMemoryStore({ './a//b': 'Grüße' });
    expect(new TextDecoder().decode((await documents.read('a/b')).content)).toBe('Grüße');
  });
});

describe('createTestToolbox', () => {
  spec('MOD-11', 'is made at once, holds exactly the given tools, and checks what they get', async () => {
    const store = createMemoryStore({ old: 'one' });
    const toolbox = createTestToolbox([remember], { fakes: { clock, store } });
    expect(toolbox).not.toBeInstanceOf(Promise);
    expect((await toolbox.list({ hidden: true })).map((tool) => tool.name)).toEqual(['remember']);
    const result = expectOk(await toolbox.call('remember', { key: 'new' }));
    expect(result.structured).toEqual({ keys: ['new', 'old'] });
    expect(result.meta.durationMs).toBe(250);
    expect((await store.documents.read('new')).size).toBe('nothing'.length);
    expect(expectError(await toolbox.call('remember', { key: '' }), 'invalid_input').hint).toContain('key');
    expectError(await toolbox.call('remember' as string, { key: 'a', more: 1 }), 'invalid_input');
    expectError(await toolbox.call('forget' as string, {}), 'not_found');
    const { plan, verdict } = await toolbox.plan('remember', { key: 'a' });
    expect([plan.kind, verdict.verdict]).toEqual(['function', 'allow']);
    await store.documents.remove('old');
    expect(await store.documents.list('old')).toEqual([]);
    expect(() => createTestToolbox([remember, remember])).toThrow(expect.objectContaining({ code: 'conflict' }));
  });

  spec('MOD-11', 'hands tools its fakes: questions are answered, other servers answer', async () => {
    const sent: unknown[] = [];
    const mcp = createFakeUpstreams({ mail: { send: (input) => sent.push(input) && 'sent' } });
    const toolbox = createTestToolbox([ask, remember], {
      fakes: {
        mcp,
        ask: async (question) => (question === 'Whom?' ? 'Ada' : null),
        store: createMemoryStore(),
      },
    });
    expect(expectOk(await toolbox.call('ask', {})).structured).toEqual([
      'sent',
      'invalid_input',
      [{ server: 'mail', name: 'send', description: 'send of mail' }],
    ]);
    expect(sent).toEqual([{ to: 'Ada' }]);
    expectError(await mcp.call('mail', 'receive', {}), 'not_found');
    expect(expectError(await mcp.call('post', 'send', {}), 'not_found').hint).toBe(
      'give the server post to createFakeUpstreams',
    );
    expectError(await createTestToolbox([ask], { fakes: { mcp } }).call('ask', {}), 'unavailable');
  });

  spec('MOD-11', 'execute can be called by hand, with a context of its own', async () => {
    const store = createMemoryStore();
    expect(await remember.execute({ key: 'a', text: 'b' }, createTestContext({ store }))).toEqual({
      keys: ['a'],
    });
    const context = createTestContext({ workdir: '/tmp', ask: async () => 'yes' });
    expect([context.workdir, await context.ask('?'), context.store]).toEqual(['/tmp', 'yes', null]);
    expectError(await context.toolbox.call('other', {}), 'not_found');
    expect(() => Object.assign(context, { more: 1 })).toThrow(TypeError);
  });

  spec('MOD-11', 'its checks throw what came instead, and need no test framework', async () => {
    const toolbox = createTestToolbox([remember], { fakes: { store: createMemoryStore() } });
    const good = await toolbox.call('remember', { key: 'a' });
    const bad = await toolbox.call('remember' as string, {});
    expect(() => expectOk(bad)).toThrow(/expected success, got invalid_input: missing .*\n {2}hint/);
    expect(() => expectError(good, 'io')).toThrow(/expected io, got success: \{"keys":\["a"\]\}/);
    expect(() => expectError(bad, 'io')).toThrow(/expected io, got invalid_input/);
  });
});
