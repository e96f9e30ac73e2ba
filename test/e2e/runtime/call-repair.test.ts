// What is repaired in an input and what is not, and keys that are never accepted.

import fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/core/json.js';
import { createToolbox } from '../../../src/index.js';
import { echo, TYPED } from '../../support/echo-tool.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

spec('RUN-4', 'repairs are made, and noted', async () => {
  const toolbox = createToolbox({ tools: [echo(TYPED)] });
  const input = {
    text: null,
    count: '12',
    ratio: '-1.5e3',
    flag: 'true',
    list: '[1, 2]',
    object: '{"inner": 3}',
    either: '7',
    nothing: null,
  };
  const result = await toolbox.call('echo', input);
  expect(result.structured).toEqual({
    got: {
      count: 12,
      ratio: -1500,
      flag: true,
      list: [1, 2],
      object: { inner: 3 },
      either: '7',
      nothing: null,
    },
  });
  expect(result.meta.repaired?.map(({ path }) => path)).toEqual([
    '/text',
    '/count',
    '/ratio',
    '/flag',
    '/list',
    '/object',
  ]);
  expect((await toolbox.call('echo', { list: ['1', 2] })).meta.repaired).toEqual([
    { path: '/list/0', repair: 'text parsed as JSON' },
  ]);
});

spec('RUN-4', 'repairs reach the one branch of a union that is meant', async () => {
  const circle = { kind: { const: 'circle' }, radius: { type: 'number' }, label: { type: 'string' } };
  const box = { kind: { const: 'box' }, width: { type: 'number' } };
  const shape: JsonObject = {
    oneOf: [
      { type: 'object', properties: circle, required: ['kind', 'radius'] },
      { $ref: '#/$defs/box' },
      { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
    ],
  };
  const $defs = { box: { type: 'object', properties: box, required: ['kind', 'width'] } };
  const any = { anyOf: [{ properties: { a: { type: 'number' } } }, { properties: { a: { type: 'boolean' } } }] };
  const toolbox = createToolbox({ tools: [echo({ type: 'object', properties: { shape, any }, $defs })] });
  const call = async (input: object) => {
    const { structured, meta, error } = await toolbox.call('echo', input);
    return error?.code ?? [(structured as { got: unknown }).got, meta.repaired?.map(({ path }) => path)];
  };
  expect(await call({ shape: { kind: 'circle', radius: '2', label: null } })).toEqual([
    { shape: { kind: 'circle', radius: 2 } },
    ['/shape/radius', '/shape/label'],
  ]);
  expect(await call({ shape: { kind: 'box', width: '3' } })).toEqual([
    { shape: { kind: 'box', width: 3 } },
    ['/shape/width'],
  ]);
  expect(await call({ shape: ['1', 2] })).toEqual([{ shape: [1, 2] }, ['/shape/0']]);
  // Both branches could be meant.
  expect(await call({ any: { a: '1' } })).toBe('invalid_input');
  expect(await call({ shape: { kind: 'ball', radius: '2' } })).toBe('invalid_input');
});

spec('RUN-4', 'nothing else is guessed', async () => {
  const toolbox = createToolbox({ tools: [echo({ ...TYPED, required: ['count'] })] });
  for (const wrong of [
    { count: null },
    ...['', ' 1', '1 ', '0x10', '01', '+1', '1_000', 'one', 'NaN', '1e400', '12345678901234567890', '1.5'].map(
      (count) => ({ count }),
    ),
    ...['yes', '1', 'TRUE', 'on', 1, 0].map((flag) => ({ count: 1, flag })),
    ...['1,2', '[1', '(1)', 'null', 5].map((list) => ({ count: 1, list })),
    { count: 1, text: 5 },
    { count: 1, object: '{"inner": 1, "inner": 2}' },
    { count: 1, object: '{inner: 1}' },
  ]) {
    expect((await toolbox.call('echo', wrong)).error?.code, JSON.stringify(wrong)).toBe('invalid_input');
  }
});

spec('RUN-4', 'an input that fits its schema is never changed', async () => {
  const toolbox = createToolbox({ tools: [echo(TYPED)] });
  const fitting = fc.record(
    {
      text: fc.oneof(fc.string(), fc.constantFrom('1', 'true', 'null', '[]', '{}')),
      count: fc.integer(),
      flag: fc.boolean(),
      list: fc.array(fc.integer()),
      either: fc.oneof(fc.integer(), fc.constantFrom('1', '[]')),
      nothing: fc.constantFrom(null, 1),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fitting, async (input) => {
      const result = await toolbox.call('echo', input);
      expect(result.meta.repaired).toBeUndefined();
      expect(result.structured).toEqual({ got: input });
    }),
  );
});

spec('RUN-4', 'repair = false turns it off', async () => {
  const workspace = createWorkspace();
  workspace.script('count', shellScript('cat', '@param count integer'));
  expect(await workspace.toolbox().call('count', { count: '3' })).toMatchObject({
    ok: true,
    structured: { count: 3 },
    meta: { repaired: [{ path: '/count' }] },
  });
  workspace.config('repair = false\n');
  expect((await workspace.toolbox().call('count', { count: '3' })).error?.code).toBe('invalid_input');
});

spec('RUN-5', 'A51 __proto__ is refused at any depth and by any way', async () => {
  const toolbox = createToolbox({
    tools: [echo({ type: 'object', properties: { object: { type: 'object' }, list: { type: 'array' } } })],
  });
  for (const text of [
    '{"__proto__": {"polluted": 1}}',
    '{"object": {"__proto__": {"polluted": 1}}}',
    '{"list": [[{"a": {"__proto__": 1}}]]}',
    JSON.stringify({ object: '{"__proto__": {"polluted": 1}}' }),
    JSON.stringify({ list: '[{"a": {"__proto__": {}}}]' }),
  ]) {
    const result = await toolbox.call('echo', JSON.parse(text));
    expect(result.error?.code, text).toBe('invalid_input');
  }
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

spec('RUN-5', 'constructor and prototype are ordinary data', async () => {
  const toolbox = createToolbox({
    tools: [
      echo({
        type: 'object',
        properties: { constructor: { type: 'object' }, prototype: { type: 'string' } },
      }),
    ],
  });
  const input = JSON.parse('{"constructor": {"prototype": {"polluted": 1}}, "prototype": "x"}');
  expect((await toolbox.call('echo', input)).structured).toEqual({ got: input });
  expect((await toolbox.call('echo', {})).ok).toBe(true);
  expect((await toolbox.call('echo', { toString: 1, valueOf: 2 })).error?.code).toBe('invalid_input');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
