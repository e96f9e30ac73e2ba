// Schemas and values that take long to validate: a server answers other calls meanwhile.

import { describe, expect } from 'vitest';
import { createToolbox } from '../../src/index.js';
import { wield } from '../support/cli.js';
import { leastBusy, serveMeasured } from '../support/measured.js';
import { type Message, type StdioServer, serveStdio } from '../support/server.js';
import { finding } from '../support/spec.js';
import { countTurns } from '../support/turns.js';
import { createUpstreamWorkspace } from '../support/upstream-workspace.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

// In units of loop-delay.mjs, each a few milliseconds of work.
const MAX_BUSY = 80;

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const definitions = (make: (ref: string) => object, levels = 32) => ({
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, index) => [
      `d${index}`,
      index === levels - 1 ? { type: 'integer' } : make(`#/$defs/d${index + 1}`),
    ]),
  ),
});
const objects = (count: number) => Array.from({ length: count }, (_, index) => ({ index, list: [index] }));
const names = (count: number, name: (index: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), index]));

const schemasOf = (count: number, name: (index: number) => string) =>
  Object.fromEntries(Object.keys(names(count, name)).map((key) => [key, {}]));

// A schema and a value for each way to take long.
const HOSTILE: Readonly<Record<string, readonly [schema: object, value: unknown]>> = {
  unique: [object({ v: { uniqueItems: true } }), { v: objects(5000) }],
  nested: [object({ v: { uniqueItems: true, items: { uniqueItems: true } } }), { v: [objects(4000), objects(4001)] }],
  all: [
    object(
      { v: { $ref: '#/$defs/d0' } },
      definitions((ref) => ({ allOf: [{ $ref: ref }, { $ref: ref }] })),
    ),
    { v: 1 },
  ],
  any: [
    object(
      { v: { $ref: '#/$defs/d0' } },
      definitions((ref) => ({ anyOf: [{ $ref: ref }, { $ref: ref }] })),
    ),
    { v: 'x' },
  ],
  one: [
    object(
      { v: { $ref: '#/$defs/d0' } },
      definitions((ref) => ({ oneOf: [{ $ref: ref }, { not: { $ref: ref } }] })),
    ),
    { v: {} },
  ],
  dynamic: [
    {
      $dynamicAnchor: 'n',
      type: 'object',
      properties: { v: { items: { anyOf: [{ $dynamicRef: '#n' }, { $dynamicRef: '#n' }] } } },
    },
    Array.from({ length: 30 }).reduce<object>((v) => ({ v: [v] }), { v: [1] }),
  ],
  default: [object({ default: { pattern: '^(a+)+$' } }), { default: `${'a'.repeat(50_000)}!` }],
  const: [object({ const: object({ enum: { pattern: '(x+x+)+y' } }) }), { const: { enum: 'x'.repeat(50_000) } }],
  examples: [object({ examples: { pattern: '^(a|a|b)*c' } }), { examples: 'ab'.repeat(20_000) }],
  polynomial: [object({ v: { pattern: 'a*a*a*a*a*b' } }), { v: 'a'.repeat(20_000) }],
  names: [
    object({ v: { propertyNames: { pattern: '^(a|aa)+$' } } }),
    { v: names(1000, (index) => `${'a'.repeat(60)}${index}`) },
  ],
  patterns: [
    object({
      v: { patternProperties: schemasOf(200, (index) => `^(a+)+${index}$`), unevaluatedProperties: false },
    }),
    { v: names(1000, (index) => `${'a'.repeat(40)}!${index}`) },
  ],
  enum: [object({ v: { items: { enum: objects(3000) } } }), { v: objects(3000) }],
  format: [
    object({ v: { items: { format: 'url' } }, w: { items: { format: 'uri' } } }),
    { v: [`http://${'a'.repeat(60)}!`], w: Array(500).fill(`http://${'a@'.repeat(1500)}|`) },
  ],
  many: [object({ v: { items: { pattern: '^(a|a|b)*c' } } }), { v: Array(4000).fill('ab'.repeat(100)) }],
  // Millions of steps, each entry within the limit: without pauses, far more than MAX_BUSY.
  entries: [
    object(
      { v: { items: { $ref: '#/$defs/d0' } } },
      definitions((ref) => ({ allOf: [{ $ref: ref }, { $ref: ref }] }), 12),
    ),
    { v: Array(3000).fill(1) },
  ],
  steps: [
    object(
      { v: { $ref: '#/$defs/d0' } },
      definitions((ref) => ({ allOf: [{ $ref: ref }, { $ref: ref }] }), 17),
    ),
    { v: 1 },
  ],
  types: [
    object(
      { v: { $ref: '#/$defs/d0' } },
      definitions((ref) => ({ anyOf: [{ $ref: ref }, { allOf: [{ $ref: ref }] }, { $ref: ref }] })),
    ),
    { v: '3' },
  ],
};

const call = (server: StdioServer, id: string, name: string, args: unknown): Promise<Message> =>
  server.request(id, 'tools/call', { name, arguments: args });

describe('validation', () => {
  const workspace = (): Workspace =>
    workspaceOf(Object.fromEntries(Object.entries(HOSTILE).map(([name, [schema]]) => [name, schema])));
  const workspaceOf = (schemas: Readonly<Record<string, object>>): Workspace => {
    const made = createWorkspace();
    const tools = Object.entries(schemas).map(([name, schema]) => ({
      name: `t_${name}`,
      description: 'x',
      parameters: schema,
    }));
    made.write('.agents/skills/hostile/SKILL.md', '---\nname: hostile\ndescription: x\n---\n');
    made.write(
      '.agents/skills/hostile/tools.json',
      JSON.stringify({
        tools: [...tools, { name: 't_cheap', description: 'x', parameters: object({ v: { type: 'string' } }) }],
        allowlist: { echo: ['ok'] },
        execution: [...tools.map(({ name }) => name), 't_cheap'].map((tool) => ({
          tool,
          binary: 'echo',
          subcommand: 'ok',
          args: [],
        })),
      }),
    );
    return made;
  };

  finding(
    'B13',
    'no input keeps the event loop busy, and other calls are answered',
    async () => {
      const { server, busy } = await serveMeasured(workspace());
      for (const name of Object.keys(HOSTILE)) await call(server, `warm ${name}`, `t_${name}`, {});
      await call(server, 'warm', 't_cheap', { v: 'x' });
      const measured: [string, number][] = [];
      for (const [name, [, value]] of Object.entries(HOSTILE)) {
        const least = await leastBusy(busy, MAX_BUSY, async (id) => {
          const hostile = call(server, `${name} ${id}`, `t_${name}`, value);
          const cheap = await call(server, `cheap ${name} ${id}`, 't_cheap', { v: 'x' });
          expect(cheap.result.isError ?? false).toBe(false);
          expect((await hostile).result).toBeDefined();
        });
        measured.push([name, least]);
      }
      expect(measured.filter(([, longest]) => longest >= MAX_BUSY)).toEqual([]);
    },
    120_000,
  );

  finding.thorough('B13', 'many such calls at once take turns', async () => {
    const toolbox = workspace().toolbox();
    const [, value] = HOSTILE.all!;
    await toolbox.call('t_all', value);
    const loop = countTurns();
    const turns = Array.from({ length: 100 }, async () => {
      const { error } = await toolbox.call('t_all', value);
      expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('steps') });
      return loop.turns();
    });
    expect((await toolbox.call('t_cheap', { v: 'x' })).ok).toBe(true);
    // Turns of the event loop, so that everything else continues in between.
    expect(new Set(await Promise.all(turns)).size).toBeGreaterThan(90);
    const before = loop.turns();
    await toolbox.call('t_entries', HOSTILE.entries![1]);
    expect(loop.turns() - before).toBeGreaterThan(20);
    loop.stop();
  });

  finding.thorough('B13', 'a large schema is compiled in turns', async () => {
    const many = Array.from({ length: 9000 }, (_, index) => index);
    const schemas = {
      parts: { type: 'object', allOf: many.map(() => ({ minProperties: 1 })) },
      patterns: { type: 'object', patternProperties: Object.fromEntries(many.map((at) => [`^(x${at}|a+b*)z$`, true])) },
    };
    for (const inputSchema of Object.values(schemas)) {
      const tool = { name: 'large', description: 'x', inputSchema, execute: () => 'ok' };
      const toolbox = createToolbox({ tools: [tool] });
      const loop = countTurns();
      expect((await toolbox.call('large', { x: 1 })).ok).toBe(true);
      const first = loop.turns();
      expect((await toolbox.call('large', { x: 1 })).ok).toBe(true);
      loop.stop();
      expect(first).toBeGreaterThan(8);
      expect(loop.turns() - first).toBeLessThan(3);
    }
  });

  finding.thorough(
    'B13',
    'no schema keeps a description of its tool busy',
    async () => {
      const chain = (make: (ref: string) => object) => object({ v: { $ref: '#/$defs/d0' } }, definitions(make));
      const schemas = {
        any: HOSTILE.any![0],
        one: HOSTILE.one![0],
        objects: chain((ref) => object({ a: { $ref: ref }, b: { $ref: ref } })),
        types: chain(($ref) => ({ type: ['array', 'array', 'object'], items: { $ref } })),
        choices: chain(($ref) => ({ oneOf: Array.from({ length: 20 }, () => ({ $ref })) })),
        self: object(
          { v: { $ref: '#/$defs/a' } },
          { $defs: { a: { anyOf: [{ type: 'array', items: { $ref: '#/$defs/a' } }, { type: 'null' }] } } },
        ),
        wide: object(
          schemasOf(15_000, (index) => `k${index}`),
          { required: Array.from({ length: 15_000 }, (_, index) => `k${index}`) },
        ),
      };
      const made = workspaceOf(schemas);
      made.config('mode = "search"\n');
      const server = serveStdio(made, {});
      await server.initialize();
      for (const name of Object.keys(schemas)) {
        const described = await call(server, name, 'describe_tool', { name: `t_${name}` });
        expect([name, described.result.isError, JSON.stringify(described.result)]).toEqual([
          name,
          undefined,
          expect.stringContaining(`t_${name}({`),
        ]);
        expect((await wield(made, [`t_${name}`, '--help'])).status).toBe(0);
      }
    },
    30_000,
  );

  finding('B13', 'a value that takes a hundred thousand steps is refused', async () => {
    const toolbox = workspace().toolbox();
    const { error } = await toolbox.call('t_steps', { v: 1 });
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('steps') });
  });
});

describe('upstream', () => {
  finding.thorough(
    'B13',
    'neither the schema nor the answer of a server keeps the event loop busy',
    async () => {
      const workspace = createUpstreamWorkspace({ theirs: { mode: 'changing' } });
      workspace.tools(
        'theirs',
        Object.entries(HOSTILE).map(([name, [schema]]) => ({
          name,
          description: 'x',
          inputSchema: schema,
          outputSchema: schema,
        })),
      );
      const { server, busy } = await serveMeasured(workspace);
      await server.request('list', 'tools/list', {});
      for (const name of Object.keys(HOSTILE)) await call(server, `warm ${name}`, `theirs_${name}`, {});
      const measured: [string, number][] = [];
      for (const [name, [, value]] of Object.entries(HOSTILE)) {
        const least = await leastBusy(busy, MAX_BUSY, async (id) => {
          const answer = await call(server, `${name} ${id}`, `theirs_${name}`, value);
          expect(answer.result ?? answer.error).toBeDefined();
        });
        measured.push([name, least]);
      }
      expect(measured.filter(([, longest]) => longest >= MAX_BUSY)).toEqual([]);
    },
    120_000,
  );
});
