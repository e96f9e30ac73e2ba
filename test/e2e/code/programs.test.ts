// Programs: what they see, what they return, and the doors that run them.

import { describe, expect } from 'vitest';
import { runCode } from '../../../src/code.js';
import { estimateTokens } from '../../../src/core/text.js';
import { createToolbox, defineTool, textOf } from '../../../src/index.js';
import { json, wield, wieldProcess } from '../../support/cli.js';
import { connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { createProgramWorkspace, MODEL, returned, runAsModel, say } from '../../support/programs.js';
import { share } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const VERSIONS: readonly ProtocolVersion[] = ['older', 'newer'];
const CODE = ['--trust', '--mode', 'code'];

describe('the world of a program', () => {
  const workspace = share(createProgramWorkspace);
  const toolbox = share(() => workspace().toolbox({ trust: true, mode: 'code' }));

  spec('COD-5 COD-6', 'calls tools by identifier, in parallel, and gets text, JSON and parts', async () => {
    const typed = defineTool({
      name: 'typed',
      description: 'Returns an object.',
      execute: () => ({ items: [1, 2] }),
    });
    const image = defineTool({
      name: 'image',
      description: 'Returns an image.',
      execute: () => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }),
    });
    const result = await runAsModel(
      workspace().toolbox({ trust: true, tools: [typed, image] }),
      `const names: string[] = ['Ada', 'Bob'];
       interface Typed { items: number[] }
       const typed = await tools.typed() as Typed;
       return {
         hello: await Promise.all(names.map((who) => tools.say_hello({ who }))),
         exact: await tools['say-hello']({ who: 'Eve' }),
         count: await tools.count(),
         typed: typed.items[1],
         image: (await tools.image())[0].mimeType,
       };`,
    );
    expect(returned(result)).toEqual({
      hello: ['Hello, Ada', 'Hello, Bob'],
      exact: 'Hello, Eve',
      count: '{"n": 3}',
      typed: 2,
      image: 'image/png',
    });
    expect(result.structured).toMatchObject({ calls: expect.arrayContaining([{ tool: 'say_hello', ran: 'ok' }]) });
  });

  spec('COD-5 COD-6', 'failed calls throw code and hint, and unknown names suggest the closest', async () => {
    const tools = ['a-b', 'a_c', 'a:c'].map((name) => defineTool({ name, description: 'x', execute: () => name }));
    const value = returned(
      await runAsModel(
        workspace().toolbox({ trust: true, tools }),
        `const attempt = async (call: () => Promise<unknown>) => {
           try { return await call(); }
           catch (error) { return [error instanceof Error, error.name, error.code, error.hint ?? '', error.tool]; }
         };
         return {
           input: await attempt(() => tools.say_hello({ wo: 'Ada' })),
           unknown: await attempt(() => tools.say_helo()),
           failed: await attempt(() => tools.broken()),
           own: await attempt(() => tools.run_code({ code: '1' })),
           found: await attempt(() => tools.a_b()),
           exact: await attempt(() => tools.a_c()),
           text: await attempt(() => tools.say_hello(() => 1)),
         };`,
      ),
    );
    expect(value).toEqual({
      input: [true, 'ToolError', 'invalid_input', expect.stringContaining('who'), 'say-hello'],
      unknown: [true, 'ToolError', 'not_found', 'did you mean tools.say_hello?', 'say_helo'],
      failed: [true, 'ToolError', 'tool_failed', expect.any(String), 'broken'],
      own: [true, 'ToolError', 'invalid_ref', expect.any(String), 'run_code'],
      found: 'a-b',
      exact: 'a_c',
      text: [true, 'TypeError', null, '', null],
    });
  });

  spec('COD-5', 'a name that fits two tools is ambiguous', async () => {
    const tools = ['x-y', 'x:y'].map((name) => defineTool({ name, description: 'x', execute: () => name }));
    const result = await runAsModel(workspace().toolbox({ tools }), 'return tools.x_y()');
    expect(result.error).toMatchObject({ code: 'ambiguous', message: expect.stringContaining('tools["x-y"]') });
  });

  spec('COD-5', 'every tool is shown as a program can call it', async () => {
    const names = ['a-b', 'a_b', 'c-d', 'c:d', 'e-f', '2fa', 'then', 'toJSON', 'constructor', 'delete'];
    const tools = names.map((name) => defineTool({ name, description: 'Same words.', execute: () => name }));
    const toolbox = createWorkspace().toolbox({ tools, mode: 'code' });
    const ask = async (tool: string, input: object) => textOf(await toolbox.call(tool, input, { caller: MODEL }));
    const found = (await ask('search_tools', { queries: ['same words'], limit: 20 })).split('\n');
    expect(found).toHaveLength(names.length);
    const shown: string[] = [];
    for (const name of names) {
      const { signature } = JSON.parse(await ask('describe_tool', { name }));
      const call = signature.replace(/: Promise<string>$/, '');
      shown.push(call);
      expect(found.filter((line) => line.startsWith(call))).toHaveLength(1);
      expect(JSON.parse(await ask('describe_tool', { name: call.replace('()', '') })).name).toBe(name);
    }
    const program = `const found = await tools.$search('same words', 20);
      return [await Promise.all([${shown}]), await Promise.all(found.map(({ name }) => tools[name]()))];`;
    const [called, searched] = returned(await runAsModel(toolbox, program)) as string[][];
    expect([called, searched!.sort()]).toEqual([names, [...names].sort()]);
  });

  spec.thorough(
    'COD-5 COD-6',
    'searches for tools, and reads large results by page, query and as a whole',
    async () => {
      const value = returned(
        await runAsModel(
          toolbox(),
          `const [found] = await tools.$search('greet', 1);
         const orders = await tools.orders();
         const all = await orders.json();
         return { found, kind: orders.kind, keys: Object.keys(orders), sum: await orders.query('$sum($)'),
           length: all.length, last: all.at(-1), page: (await orders.page(3)).slice(0, 8), frozen: Object.isFrozen(orders) };`,
        ),
      );
      expect(value).toMatchObject({
        found: { name: 'say_hello', signature: '({ who: string }): Promise<string>' },
        kind: 'json',
        keys: expect.arrayContaining(['id', 'size', 'preview', 'json', 'page', 'query']),
        sum: (9000 * 9001) / 2,
        length: 9000,
        last: 9000,
        page: '1,2,3,4,',
        frozen: true,
      });
    },
  );

  spec('COD-4', 'returns a value, and shows what was logged up to a limit', async () => {
    const result = await runAsModel(
      toolbox(),
      `console.log('a', { b: 1 }, [2]); console.error(new TypeError('c')); console.log('x'.repeat(9000)); console.log('lost');
       return { ok: true };`,
    );
    const { value, logs } = result.structured as { value: unknown; logs: string[] };
    expect(value).toEqual({ ok: true });
    expect(logs.slice(0, 2)).toEqual(['a {"b":1} [2]', 'TypeError: c']);
    expect(logs.join('').length).toBeLessThan(8100);
    expect(logs.at(-1)).toBe('[more output was cut]');
    expect(returned(await runAsModel(toolbox(), 'tools.count()'))).toBe(undefined);
  });

  spec.thorough('COD-4', 'errors name the line; calls that were not awaited end too', async () => {
    const codeOf = async (code: string) => (await runAsModel(toolbox(), code)).error;
    expect(await codeOf('\n\nundefined.x')).toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(/TypeError.*\(line 3\)$/),
    });
    expect(await codeOf('const a: = 1')).toMatchObject({ code: 'invalid_input', data: { line: 1 } });
    expect(await codeOf('import fs from "fs"')).toMatchObject({ code: 'invalid_input' });
    expect(await codeOf('await new Promise(() => {})')).toMatchObject({ message: expect.stringContaining('never') });
    expect(await codeOf('await tools.broken()')).toMatchObject({ code: 'tool_failed', data: { exitCode: 3 } });
    expect(await codeOf('throw { get message() { throw 1 } }')).toMatchObject({
      message: 'the program failed: Error: it threw something that cannot be read',
    });
    const late = await runAsModel(toolbox(), 'void tools.broken(); return 1');
    expect(returned(late)).toBe(1);
    expect((late.structured as { logs: string[] }).logs[0]).toContain('broken failed after the program had ended');
  });

  spec('COD-4', 'returns what is not JSON in its nearest form, or says what cannot be returned', async () => {
    const code = `const cycle = {}; cycle.self = cycle;
      console.table([new Map([['a', 1n]])]); console.groupEnd();
      const tried = [];
      for (const value of [cycle, () => 1, Symbol('x')]) {
        try { await tools.count(value); } catch (error) { tried.push(error); }
      }
      return { map: new Map([['a', new Set([1])]]), pairs: new Map([[1, 2]]), big: 2n ** 70n, date: new Date(0), tried };`;
    const result = await runAsModel(toolbox(), code);
    const failed = (message: string) => ({ name: 'TypeError', message: expect.stringContaining(message) });
    expect(returned(result)).toEqual({
      map: { a: [1] },
      pairs: [[1, 2]],
      big: '1180591620717411303424',
      date: '1970-01-01T00:00:00.000Z',
      tried: [failed('circular'), failed('not a function'), failed('not a symbol')],
    });
    expect((result.structured as { logs: string[] }).logs).toEqual(['[{"a":"1"}]']);
    expect((await runAsModel(toolbox(), 'return () => 1')).error?.message).toContain('return must be JSON');
    expect(textOf(await runAsModel(toolbox(), 'const unused = 1'))).toBe('(the program returned nothing)');
  });

  spec('COD-4', 'a syntax error that only the engine finds has its line, and nothing runs', async () => {
    const errorOf = async (code: string) => (await runAsModel(toolbox(), code)).error;
    for (const [code, line] of [
      ['await tools.count();\nconst a = 1;\nconst a = 2;', 3],
      // Its lines are not those of the compiled code.
      ['enum N {\n  one,\n}\nlet b = N.one;\nlet b = 2;', 5],
    ] as const) {
      const { error, structured } = await runAsModel(toolbox(), code);
      expect([code, error]).toEqual([
        code,
        expect.objectContaining({
          code: 'invalid_input',
          message: expect.stringMatching(`^the program has a syntax error at line ${line}: `),
          data: { line },
        }),
      ]);
      expect(structured).toMatchObject({ calls: [] });
    }
    // The engine does not say where an invalid pattern is.
    expect(await errorOf('return /(/;')).toMatchObject({
      code: 'invalid_input',
      message: `the program has a syntax error: expecting ')'`,
    });
    expect(await errorOf('throw new SyntaxError("mine")')).toMatchObject({ code: 'tool_failed', data: { line: 1 } });
    expect(await errorOf('}); throw new SyntaxError("mine"); (() => {')).toMatchObject({ code: 'tool_failed' });
  });

  spec('COD-4', 'a forgotten await, a function and a cycle are errors at any depth, which say where', async () => {
    const messageOf = async (code: string) => (await runAsModel(toolbox(), code)).error?.message;
    const greetings = `['Ada'].map((who) => tools.say_hello({ who }))`;
    const hint = 'await it, or several with Promise.all';
    expect(await messageOf(`return { all: { greetings: ${greetings} } }`)).toContain(
      `the value of return must be JSON, and all.greetings[0] is a promise: ${hint}`,
    );
    expect(await messageOf(`return [1, [{}, ${greetings}]]`)).toContain('and [1][1][0] is a promise');
    expect(await messageOf(`return new Map([['a', [{ b: () => 1 }]]])`)).toContain('and a[0].b is a function');
    expect(await messageOf('await tools.say_hello({ who: tools.count() })')).toContain(
      `the input of tools.say_hello must be JSON, and who is a promise: ${hint}`,
    );
    expect(await messageOf('await tools.say_hello(tools.count())')).toContain('must be JSON, not a promise');
    const cycle =
      'const a = { x: {} }; a.x.y = a; const m = new Map(); m.set("k", [m]); const e = new Error("x"); e.cause = e;';
    for (const [value, path] of [
      ['{ k: [a] }', 'k[0].x.y'],
      ['m', 'k[0]'],
      ['{ e }', 'e.cause'],
      ['[new Set([a])]', '[0][0].x.y'],
    ])
      expect(await messageOf(`${cycle} return ${value}`)).toContain(
        `the value of return must be JSON, and ${path} is a circular reference`,
      );
    expect(await messageOf(`${cycle} await tools.say_hello({ who: a })`)).toContain('and who.x.y is a circular');
    expect(returned(await runAsModel(toolbox(), 'const a = {}; return [a, { a, b: [a] }]'))).toEqual([
      {},
      { a: {}, b: [{}] },
    ]);
    const large = await runAsModel(toolbox(), 'return { orders: await tools.orders(), none: [undefined, {}] }');
    expect(returned(large)).toEqual({ orders: expect.objectContaining({ kind: 'json' }), none: [null, {}] });
  });

  spec.thorough('COD-3 COD-4 COD-6', 'a failure has what the tool printed, its line, and which calls ran', async () => {
    // Enums change the lines of the compiled code.
    const lines = ['enum Level {', '  Low,', '  High,', '}', 'await tools.count();', 'await tools.count();'];
    const caught = await runAsModel(toolbox(), 'try { await tools.broken(); } catch (error) { return error; }');
    expect(returned(caught)).toMatchObject({ code: 'tool_failed', output: expect.stringContaining('bad') });
    const program = [...lines, 'void tools.say_hello({ who: Level[1] });', 'await tools.broken();'].join('\n');
    const result = await runAsModel(toolbox(), program);
    expect(result.error?.message).toBe('broken exited with status 3 (line 8)');
    expect(textOf(result)).toContain('bad');
    expect(textOf(result)).toContain('calls: count ok (2), say_hello ok, broken({}) tool_failed');
    const missing = await runAsModel(toolbox(), 'await tools.count(); require("fs")');
    expect(missing.error).toMatchObject({
      message: expect.stringContaining('require is not defined (line 1)'),
      hint: expect.stringMatching(/^there are no modules.*do not repeat/),
    });
    expect(textOf(missing)).toBe('calls: count ok');
  });

  spec('COD-9', 'an overflow of the stack can be caught, also in native functions', async () => {
    const code = `const caught = [];
      const deep = () => { let value = 1; for (let i = 0; i < 1e5; i++) value = [value]; return value; };
      const endless = () => endless() + 1;
      const sorts = () => [2, 1].sort(() => sorts());
      const attempts = [endless, sorts, () => JSON.stringify(deep()), () => JSON.parse('['.repeat(1e5) + ']'.repeat(1e5)),
        () => eval('('.repeat(2e4) + '1' + ')'.repeat(2e4)), () => String(deep()), () => deep().flat(Infinity)];
      for (const attempt of attempts) try { attempt(); } catch (error) { caught.push(error.name); }
      return [...new Set(caught), caught.length, await tools.count()];`;
    expect(returned(await runAsModel(toolbox(), code))).toEqual(['RangeError', 7, '{"n": 3}']);
    const result = await runAsModel(toolbox(), `return await tools.read_result({ id: 'r_unknown' });`);
    expect(result.error).toMatchObject({ code: 'not_found', hint: expect.not.stringContaining('did you mean') });
  });

  spec('COD-3', 'a call that was running when the program was ended may have run', async () => {
    const slow = defineTool({
      name: 'slow',
      description: 'Waits until it is cancelled.',
      execute: (_input: unknown, { signal }) =>
        new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    });
    const result = await runAsModel(
      workspace().toolbox({ trust: true, tools: [slow] }),
      'void tools.slow(); await tools.count(); for (let i = 0; i < 60; i++) void tools.count();',
    );
    expect(result.error?.data).toMatchObject({ limit: 'code.calls' });
    expect(textOf(result)).toBe('calls: slow({}) cancelled, may have run, count ok, count({}) not run (49)');
    expect(result.structured).toMatchObject({
      calls: [
        { tool: 'slow', ran: 'cancelled' },
        { tool: 'count', ran: 'ok' },
        ...Array.from({ length: 49 }, () => ({ tool: 'count', ran: 'no' })),
      ],
    });
  });

  spec('COD-7', 'time is that of the last result, random numbers come from a recorded seed', async () => {
    let now = 1_700_000_000_000;
    const tick = defineTool({
      name: 'tick',
      description: 'A minute passes.',
      execute: () => {
        now += 60_000;
        return 'ok';
      },
    });
    const result = await runAsModel(
      workspace().toolbox({ tools: [tick], now: () => now }),
      `const before = [Date.now(), new Date().getTimezoneOffset()];
       for (let i = 0; i < 1e5; i++);
       const same = Date.now();
       await tools.tick();
       return [before, same, Date.now(), Math.random() !== Math.random()];`,
    );
    expect(returned(result)).toEqual([[1_700_000_000_000, 0], 1_700_000_000_000, 1_700_000_060_000, true]);
    expect(result.structured).toMatchObject({ program: { seed: expect.any(Number), started: 1_700_000_000_000 } });
  });
});

describe('doors', () => {
  for (const protocol of some(VERSIONS, 1)) {
    spec('COD-1 COD-5', `code mode shows five tools (${protocol} protocol)`, async () => {
      const client = await connectStdio(createProgramWorkspace(), protocol, CODE);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual([
        'describe_tool',
        'query_result',
        'read_result',
        'run_code',
        'search_tools',
      ]);
      expect(estimateTokens(JSON.stringify(tools))).toBeLessThan(700);
      const found = await say(client, 'search_tools', { queries: ['greet someone'] });
      expect(found.text.split('\n')[0]).toMatch(/^tools\.say_hello\(\{ who: string \}\): Promise<string> — /);
      for (const name of ['say-hello', 'say_hello', 'tools.say_hello'])
        expect(JSON.parse((await say(client, 'describe_tool', { name })).text)).toMatchObject({
          name: 'say-hello',
          signature: 'tools.say_hello({ who: string }): Promise<string>',
        });
      const ran = await say(client, 'run_code', { code: 'return tools.say_hello({ who: "Ada" })' });
      expect(ran).toEqual({ text: 'Hello, Ada', error: undefined });
      const wrong = await say(client, 'run_code', { code: 'return tools.say_hello({ wo: "Ada" })' });
      expect(wrong.error).toMatchObject({ code: 'invalid_input' });
      expect((await say(client, 'run_code', {})).error).toMatchObject({ message: 'give code, or resume' });
      const large = await say(client, 'run_code', { code: 'return (await tools.orders()).json()' });
      expect(large.text).toContain('r_');
      await expect(client.callTool({ name: 'call_tool', arguments: { name: 'count' } })).rejects.toThrow();
    });
  }

  spec('COD-1', 'other modes have no run_code, and a rule can deny it', async () => {
    const workspace = createProgramWorkspace();
    for (const mode of ['all', 'search'] as const) {
      const toolbox = workspace.toolbox({ mode });
      expect((await toolbox.list({ caller: MODEL })).map(({ name }) => name)).not.toContain('run_code');
      expect((await toolbox.call('run_code', { code: '1' }, { caller: MODEL })).error?.code).toBe('not_found');
    }
    workspace.config('mode = "code"\nallowed-tools = "* run_code($deny)"\n');
    const denied = await workspace.toolbox().call('run_code', { code: 'return 1' }, { caller: MODEL });
    expect(denied.error).toMatchObject({ code: 'denied' });
  });

  spec.thorough(
    'COD-1 COD-4',
    'wield run prints the value to stdout, logs to stderr, and errors with the file',
    async () => {
      const workspace = createProgramWorkspace();
      workspace.write('hello.ts', 'console.log("to you"); const who: string = "Ada"; return tools.say_hello({ who });');
      const run = await wield(workspace, ['run', 'hello.ts']);
      expect(run).toMatchObject({ status: 0, stdout: 'Hello, Ada\n', stderr: 'to you\n' });
      const printed = json(await wield(workspace, ['run', 'hello.ts', '--json']));
      expect(printed).toMatchObject({ ok: true, structured: { value: 'Hello, Ada', logs: ['to you'] } });
      const piped = await wieldProcess(workspace, ['run', '-'], { stdin: 'return tools.say_helo({})' });
      expect(piped).toMatchObject({ status: 3, stderr: expect.stringContaining('did you mean tools.say_hello?') });
      expect(await wield(workspace, ['run', 'missing.ts'])).toMatchObject({ status: 8 });
      workspace.write('bad.ts', '\nthrow new Error("x")');
      const failed = await wield(workspace, ['run', 'bad.ts']);
      expect(failed).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/^error {2}bad\.ts: .*Error: x \(line 2\)$/m),
      });
      workspace.write('bad.ts', '\nreturn (');
      expect(json(await wield(workspace, ['run', 'bad.ts', '--json'])).error.message).toMatch(/^bad\.ts: .* at line 2/);
      expect(await wield(workspace, ['run'])).toMatchObject({ status: 2 });
    },
  );

  spec(
    'COD-1 COD-3 COD-8',
    'runCode works with tools defined in code, for any caller, with limits of its own',
    async () => {
      const add = defineTool({
        name: 'add',
        description: 'Adds.',
        inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
        execute: ({ a, b }: { a: number; b: number }) => a + b,
      });
      const toolbox = createToolbox({ tools: [add] });
      for (const caller of [undefined, MODEL]) {
        const result = await runCode(toolbox, 'return tools.add({ a: 1, b: await tools.add({ a: 2, b: 3 }) })', {
          caller,
        });
        expect(returned(result)).toBe(6);
      }
      expect((await toolbox.list()).map(({ name }) => name)).toEqual(['add']);
      const add3 = 'for (const a of [1, 2, 3]) await tools.add({ a, b: 1 }); return 3';
      expect(returned(await runCode(toolbox, add3, { limits: { calls: 3 } }))).toBe(3);
      const { error } = await runCode(toolbox, add3, { limits: { calls: 2 } });
      expect(error).toMatchObject({ code: 'too_large', data: { limit: 'code.calls' } });
      expect(error!.message).toContain('more than 2 calls (code.calls)');
      const all = 'return Promise.all([1, 2, 3, 4].map((a) => tools.add({ a, b: 1 })))';
      const report = await runCode(toolbox, all, { limits: { calls: 2 } });
      expect(textOf(report)).toBe(
        'calls: add({"a":1,"b":1}) not run, add({"a":2,"b":1}) not run, add({"a":3,"b":1}) not run',
      );
      await toolbox.close();
    },
  );

  spec('COD-1 COD-3', 'runCode rejects limits that are wrong, and names them', async () => {
    const toolbox = createToolbox({ tools: [] });
    for (const [options, message] of [
      [{ limits: { cpu: 500 } }, 'unknown key "limits.cpu"'],
      [{ limits: { cpuMs: '500ms' } }, 'limits.cpuMs must be a whole number of milliseconds above 0, got a string'],
      [{ limits: { parallel: 0 } }, 'limits.parallel must be a whole number above 0'],
      [{ limits: { calls: -1 } }, 'limits.calls must be a whole number above 0'],
      [{ limits: { memory: '64M' } }, 'unknown key "limits.memory"'],
      [{ limits: { memoryBytes: Number.NaN } }, 'limits.memoryBytes must be a whole number of bytes above 0'],
      [{ limits: 5 }, 'limits must be an object'],
      [{ offer: 5 }, 'offer must be an array of strings'],
    ] as const) {
      const { error } = await runCode(toolbox, 'return 1', options as never);
      expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining(message) });
      expect(error!.hint).toMatch(/\S/);
    }
    await toolbox.close();
  });

  spec.thorough('COD-8 OBS-1', 'calls of a program are recorded with the same caller, below run_code', async () => {
    const workspace = createProgramWorkspace();
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const parents: (string | undefined)[] = [];
    const ids: string[] = [];
    toolbox.on((event) => {
      if (event.type !== 'end') return;
      if (event.ref === 'run_code') ids.push(event.call);
      else parents.push(event.parent);
    });
    await runAsModel(toolbox, 'await tools.say_hello({ who: "a" }); await tools.count();');
    expect(parents).toEqual([ids[0], ids[0]]);
    const { records } = json(await wield(workspace, ['audit', '--json']));
    expect(records).toHaveLength(3);
    expect(new Set(records.map(({ caller }: { caller: unknown }) => JSON.stringify(caller))).size).toBe(1);
  });
});

spec('COD-3', 'limits are set in the configuration, and a project can only lower them', async () => {
  const workspace = createWorkspace();
  workspace.config('[code]\ncalls = 3\n');
  workspace.write('.agents/config.toml', '[code]\ncalls = 9\nparallel = 2\n');
  const { settings } = workspace.toolbox().state.configuration();
  expect(settings.code).toMatchObject({ calls: 3, parallel: 2, cpuMs: 5000, memoryBytes: 64 * 1024 ** 2 });
});
