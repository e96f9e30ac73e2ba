import { describe, expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import type { NodeToolbox } from '../../../src/node.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { rounds, some } from '../../support/effort.js';
import { patience } from '../../support/patience.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read results of any shape
type Loose = any;

const INBOX = [
  { id: 1, ts: '2026-05-31T08:00:00Z', email: 'ada@x.org', subject: 'Hello', amount: 50, created: 3 },
  { id: 2, ts: '2026-05-31T09:00:00Z', email: 'bob@x.org', subject: 'Re: Hello', amount: 150, created: 1 },
  { id: 3, ts: '2026-06-01T10:00:00Z', email: 'ada@x.org', subject: 'Bye', amount: 200, created: 2 },
];

async function createInbox(): Promise<NodeToolbox> {
  const toolbox = createWorkspace().toolbox();
  await write(toolbox, 'mcp/inbox.json', INBOX);
  return toolbox;
}

async function write(toolbox: NodeToolbox, path: string, value: unknown): Promise<void> {
  const content = typeof value === 'string' ? value : JSON.stringify(value);
  await toolbox.state.stores.documents.write(path, Buffer.from(content));
}

async function query(toolbox: NodeToolbox, expression: string, more: object = {}): Promise<Loose> {
  const result = await toolbox.call('context_query', { path: 'mcp/inbox.json', expression, ...more });
  expect(result.error, expression).toBeUndefined();
  return result.structured;
}

async function fail(toolbox: NodeToolbox, input: object): Promise<Loose> {
  const { ok, error } = await toolbox.call('context_query', { path: 'mcp/inbox.json', ...input });
  expect(ok).toBe(false);
  expect(error?.hint).toBeTruthy();
  return error;
}

describe('expressions', () => {
  spec.thorough('CTX-30', 'group, filter, pluck, dedup, sort and sum as the description shows', async () => {
    const toolbox = await createInbox();
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: JSONata groups with these very characters
    const shown: [string, unknown, string, number?][] = [
      ['${ $substring(ts,0,10): $count($) }', { '2026-05-31': 2, '2026-06-01': 1 }, 'object'],
      ['$[amount > 100]', INBOX.slice(1), 'array', 2],
      ["$.{ 'id': id, 'subject': subject }", INBOX.map(({ id, subject }) => ({ id, subject })), 'array', 3],
      ['$distinct(email)', ['ada@x.org', 'bob@x.org'], 'array', 2],
      ['$^(>created)[[0..9]]', [INBOX[0], INBOX[2], INBOX[1]], 'array', 3],
      ['$sum(amount)', 400, 'number'],
      ['$[0].subject', 'Hello', 'string'],
      ['$[0].amount > 10', true, 'boolean'],
      ['null', null, 'null'],
      ['$.nothing', null, 'undefined'],
      ['{ "f": $sum, "g": function($x) { $x } }', { f: '', g: '' }, 'object'],
    ];
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above
    for (const [expression, result, type, count] of shown) {
      expect(await query(toolbox, expression), expression).toEqual({
        result,
        result_type: type,
        ...(count === undefined ? {} : { result_count: count }),
      });
    }
    const tool = await toolbox.find('context_query');
    for (const [expression] of shown.slice(0, 6)) expect(tool.description).toContain(expression.replaceAll("'", '"'));
    expect(tool.description.length).toBeLessThan(500);
    expect(await fail(toolbox, { expression: '$sum' })).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('is a function'),
    });
  });

  spec.thorough('CTX-30', 'write the result to output_path, unless it exists', async () => {
    const toolbox = await createInbox();
    const ack = await query(toolbox, '$[amount > 100]', { output_path: 'mcp/large.json' });
    expect(ack).toMatchObject({ path: 'mcp/large.json', result_type: 'array', result_count: 2 });
    expect(ack).not.toHaveProperty('result');
    const stored = await toolbox.state.stores.documents.read('mcp/large.json');
    expect(stored.size).toBe(ack.bytes_written);
    expect(JSON.parse(Buffer.from(stored.content).toString())).toEqual(INBOX.slice(1));
    expect(await query(toolbox, '$sum(amount)', { path: 'mcp/large.json' })).toMatchObject({ result: 350 });
    const again = { expression: '$', output_path: 'mcp/large.json' };
    expect(await fail(toolbox, again)).toMatchObject({
      code: 'path_conflict',
      hint: expect.stringMatching(/context_read.*overwrite/),
    });
    await query(toolbox, '$.id', { output_path: 'mcp/large.json', on_conflict: 'overwrite' });
    expect(await query(toolbox, '$', { path: 'mcp/large.json' })).toMatchObject({ result: [1, 2, 3] });
    expect(await fail(toolbox, { expression: 'none', output_path: 'x' })).toMatchObject({
      code: 'invalid_input',
    });
    expect(await fail(toolbox, { expression: '$', output_path: '../x' })).toMatchObject({
      code: 'path_escape',
    });
  });

  spec('CTX-30', 'A59 read a large result by its handle, only in its session', async () => {
    const workspace = createWorkspace();
    const rows = Array.from({ length: 5000 }, (_, id) => ({ id, amount: id % 7 }));
    workspace.script('export', `#!/bin/sh\n# @description E\ncat rows.json\n`);
    workspace.write('rows.json', JSON.stringify(rows));
    const toolbox = workspace.toolbox();
    const { id } = (await toolbox.call('export', {})).meta.handle!;
    const sum = rows.reduce((total, { amount }) => total + amount, 0);
    expect(await query(toolbox, '$sum(amount)', { path: id })).toMatchObject({ result: sum });
    const stranger = { caller: { kind: 'model', door: 'test', session: 'another' } } as const;
    const offered = workspace.toolbox({ offer: ['context'] });
    const { error } = await offered.call('context_query', { path: id, expression: '$' }, stranger);
    expect(error?.code).toBe('not_found');
    // The handle includes the call to query it.
    const shown = textOf(await toolbox.call('export', {}));
    const call = /^ {2}query_result (.*)$/m.exec(shown);
    expect((await toolbox.call('query_result', JSON.parse(call![1]!))).structured).toMatchObject({ result: 5000 });
    // On the command line.
    const called = json(await wield(workspace, ['call', 'export', '--json']));
    const shell = await wield(workspace, ['call', 'context_query', called.meta.handle.id, '$sum(amount)']);
    expect(shell).toEqual({ status: 0, stdout: `${sum}\n`, stderr: '' });
    // A query result that is too large becomes a handle, which can be queried too.
    const large = await toolbox.call('context_query', { path: id, expression: '$[amount = 3]' });
    const next = large.meta.handle!;
    expect(next.kind).toBe('json');
    expect(await query(toolbox, '$count($)', { path: next.id })).toMatchObject({ result: 714 });
  });

  spec('CTX-32', 'return the reference for "?", and for a syntax error with its position', async () => {
    const toolbox = await createInbox();
    for (const expression of ['?', '', '  ']) {
      const result = await toolbox.call('context_query', { path: 'mcp/inbox.json', expression });
      expect(textOf(result)).toContain('JSONata in short');
      expect(textOf(result).length).toBeLessThan(3000);
    }
    for (const [expression, position] of [
      ['$sum(amount', 11],
      ['$[amount >]', 11],
      ['"open', 5],
    ] as const) {
      const error = await fail(toolbox, { expression });
      expect(error).toMatchObject({ code: 'invalid_input', data: { position } });
      expect(error.message).toContain(`at character ${position}`);
      expect(error.hint).toContain('JSONata in short');
    }
    expect(await fail(toolbox, { expression: '$[0].subject + 1' })).toMatchObject({
      code: 'invalid_input',
      data: { code: 'T2001' },
    });
  });

  spec('CTX-32', 'report a missing or non-JSON document', async () => {
    const toolbox = await createInbox();
    await write(toolbox, 'text', 'no JSON at all');
    await write(toolbox, 'half.json', '[{"a":1},');
    expect(await fail(toolbox, { path: 'no', expression: '$' })).toMatchObject({ code: 'not_found' });
    expect(await fail(toolbox, { path: 'r_0000000000000000000000', expression: '$' })).toMatchObject({
      code: 'not_found',
    });
    for (const path of ['text', 'half.json'])
      expect(await fail(toolbox, { path, expression: '$' })).toMatchObject({ code: 'invalid_input' });
  });

  spec.thorough('CTX-32', 'report a too large document', async () => {
    const toolbox = await createInbox();
    await write(toolbox, 'huge.json', '1'.padStart(256 * 1024 * 1024 + 1));
    expect(await fail(toolbox, { path: 'huge.json', expression: '$' })).toMatchObject({ code: 'too_large' });
  });

  spec('CTX-32', 'return the reference to MCP clients', async () => {
    const workspace = createWorkspace();
    const client = await connectStdio(workspace, 'newer', ['--with', 'context']);
    await client.callTool({ name: 'context_write', arguments: { path: 'a.json', content: '[1,2]' } });
    const call = (expression: string) =>
      client.callTool({ name: 'context_query', arguments: { path: 'a.json', expression } });
    expect((await call('$sum($)')).content).toEqual([{ type: 'text', text: '3' }]);
    expect(JSON.stringify((await call('$sum(')).content)).toMatch(/\[invalid_input\].*at character.*in short/);
  });
});

describe('hostile expressions', () => {
  spec('CTX-31', 'A59 cannot access files, environment or host', async () => {
    const toolbox = await createInbox();
    const expressions = [
      '$.constructor',
      '$.__proto__',
      '$$.constructor.constructor("return process")()',
      '$lookup($, "constructor")',
      '$lookup({}, "__proto__")',
      '$string.constructor',
      '(function($x) { $x }).constructor',
      '$sum.implementation',
      '$eval("constructor")',
      'process',
      'require',
      'globalThis',
      '$process',
      '$env',
      '$sift($$, function($v, $k) { $k = "constructor" })',
      '$each({}, function($v, $k) { $k })',
      '$$.**.constructor',
      '$keys($sum)',
      '$lookup(/a/, "source")',
      '$match("a", /a/).constructor',
    ];
    for (const expression of some(expressions, 10)) {
      const { ok, structured, error } = await toolbox.call('context_query', {
        path: 'mcp/inbox.json',
        expression,
      });
      if (ok) expect([expression, (structured as Loose).result]).toEqual([expression, null]);
      else expect([expression, error?.code]).toEqual([expression, 'invalid_input']);
    }
    // Keys with such names are ordinary keys.
    await write(toolbox, 'odd.json', '{"__proto__":{"a":1},"constructor":2}');
    expect(await query(toolbox, '$.__proto__.a + $.constructor', { path: 'odd.json' })).toMatchObject({
      result: 3,
    });
    const made = await toolbox.call('context_query', {
      path: 'odd.json',
      expression: '{ "__proto__": { "polluted": true }, "x": 1 }.polluted',
    });
    expect((made.structured as Loose).result).toBeNull();
    expect(({} as Loose).polluted).toBeUndefined();
  });

  const ENDLESS = '($f := function($n) { $f($n + 1) }; $f(0))';
  const HOSTILE: Readonly<Record<string, Readonly<Record<string, readonly [string, ...string[]]>>>> = {
    'endless recursion': {
      '($f := function($n) { 1 + $f($n + 1) }; $f(0))': ['too_large'],
      [ENDLESS]: ['timeout'],
      '($e := "$eval($e)"; $eval($e))': ['too_large', 'timeout'],
    },
    'endless growth': {
      '($f := function($n, $s) { $n = 0 ? $s : $f($n - 1, $s & $s) }; $f(60, "xx"))': ['too_large'],
      '($f := function($n, $a) { $n = 0 ? $a : $f($n - 1, $append($a, $a)) }; $f(60, [1,2]))': ['too_large', 'timeout'],
      '$sum($map([1..9999999], function($x) { $x * 2 }).[$, $])': ['too_large', 'timeout'],
    },
    'a catastrophic regular expression, and results of 100 and 200 MB': {
      '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", /^(a+)+$/)': ['timeout'],
      "[1..1000].$pad('x', 1e5)": ['too_large', 'timeout'],
      "$pad('x', 2e8)": ['too_large', 'timeout'],
    },
  };

  for (const [at, [what, expressions]] of Object.entries(HOSTILE).entries()) {
    const prove = at < 2 ? spec : spec.thorough;
    prove('CTX-31 CTX-32', `A59 ${what} ends as an error and does not block other calls`, async () => {
      // One toolbox per query, since a toolbox evaluates at most two at once.
      await Promise.all(
        Object.entries(expressions)
          .slice(0, rounds(1, 3))
          .map(async ([expression, codes]) => {
            const toolbox = await createInbox();
            let answered = 0;
            let over = false;
            const running = toolbox.call('context_query', { path: 'mcp/inbox.json', expression }).finally(() => {
              over = true;
            });
            while (!over) {
              const { ok } = await toolbox.call('context_exists', { path: 'mcp/inbox.json' });
              expect(ok).toBe(true);
              answered++;
              await new Promise((resolve) => setTimeout(resolve, 20));
            }
            const { error, meta } = await running;
            expect(codes, `${expression} ${JSON.stringify(error)}`).toContain(error?.code);
            expect(error?.hint).toBeTruthy();
            expect(answered).toBeGreaterThan(0);
            expect(meta.durationMs).toBeLessThan(patience(90_000));
            // The next query works.
            expect(await query(toolbox, '$count($)')).toMatchObject({ result: 3 });
          }),
      );
    });
  }

  spec('CTX-31', 'cancelling stops the query', async () => {
    const toolbox = await createInbox();
    const controller = new AbortController();
    const running = toolbox.call(
      'context_query',
      { path: 'mcp/inbox.json', expression: ENDLESS },
      { signal: controller.signal },
    );
    setTimeout(() => controller.abort(), 500);
    expect((await running).error?.code).toBe('cancelled');
  });
});
