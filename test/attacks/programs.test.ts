// Programs that try to get out, or to use up the machine.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { defineTool, textOf } from '../../src/index.js';
import { connectProcess } from '../support/clients.js';
import { THOROUGH } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { ownEngines, ownProcessesWith } from '../support/processes.js';
import { createProgramWorkspace, returned, runAsModel, say } from '../support/programs.js';
import { CANARY } from '../support/sandbox-attempts.js';
import { share } from '../support/share.js';
import { spec } from '../support/spec.js';

/** Expressions that would be something else than undefined, null or false outside of the engine. */
const ESCAPES: Readonly<Record<string, string>> = {
  process: 'typeof process !== "undefined"',
  'constructor of a function': '[].constructor.constructor("return typeof process")() !== "undefined"',
  'constructor of an async function': 'await (async () => {}).constructor("return typeof process")() !== "undefined"',
  'constructor of a generator': '(function* () {}).constructor("yield typeof process")().next().value !== "undefined"',
  'constructor of an async generator':
    '(await (async function* () {}).constructor("yield typeof process")().next()).value !== "undefined"',
  'constructor by Reflect': 'Reflect.construct(Function, ["return typeof process"])() !== "undefined"',
  'constructor of a template':
    '((texts) => texts.raw.constructor.constructor("return typeof process")())`x` !== "undefined"',
  'constructor of a shared buffer':
    'new SharedArrayBuffer(8).constructor.constructor("return typeof process")() !== "undefined"',
  'functions of the world':
    'Object.values(globalThis.__wield).some((one) => one.constructor("return typeof process")() !== "undefined")',
  'programs by other names': `(await Promise.all(['builtin:run_code', 'builtin/run_code', 'run-code', 'run_code ', 'user:run_code']
      .map((name) => tools[name]({ code: 'return 1' }).then(() => name, () => '')))).join('') !== ''`,
  'programs by call_tool': `await tools.call_tool({ name: 'run_code', input: { code: 'return 1' } }).then(() => true, () => false)`,
  'inherited names': `(await Promise.all(['constructor', '__proto__', 'toString'].map((name) => tools[name]().then(() => name, () => ''))))
      .join('') !== ''`,
  'constructor of a tool': 'tools.count.constructor("return typeof process")() !== "undefined"',
  'constructor of console.log': 'console.log.constructor("return typeof process")() !== "undefined"',
  'constructor of a result': '(await tools.count()).constructor.constructor("return typeof process")() !== "undefined"',
  'constructor of an error':
    '(await tools.broken().catch((error) => error)).constructor.constructor("return typeof process")() !== "undefined"',
  'constructor of a promise': 'tools.count().constructor.constructor("return typeof process")() !== "undefined"',
  'indirect eval': '(0, eval)("typeof process") !== "undefined"',
  require: 'typeof require !== "undefined" || typeof module !== "undefined"',
  fetch: 'typeof fetch !== "undefined" || typeof XMLHttpRequest !== "undefined"',
  timers: 'typeof setTimeout !== "undefined" || typeof setImmediate !== "undefined"',
  WebAssembly: 'typeof WebAssembly !== "undefined"',
  'dynamic import': 'await import("node:fs").then(() => true, () => false)',
  'dynamic import of a file': 'await import("/etc/passwd").then(() => true, () => false)',
  'import of data': 'await import("data:text/javascript,1").then(() => true, () => false)',
  'globals of Node': '["Buffer", "global", "Deno", "Bun", "std", "os", "bjson"].some((name) => name in globalThis)',
  'prototype of a host object': 'Object.getPrototypeOf(tools) !== null',
  'stack of an error': '/node:|\\/work|\\.cjs|file:/.test(new Error("x").stack)',
  'stack of a failed call': '/node:|\\.cjs|file:/.test(await tools.broken().catch((error) => error.stack))',
  'call sites': `(() => { let sites = []; Error.prepareStackTrace = (_, all) => { sites = all; return ''; };
      void new Error('x').stack; delete Error.prepareStackTrace;
      return sites.some((site) => /\\.cjs|node:/.test(String(site.getFileName?.()))); })()`,
  'getters on results': `(() => { let seen = false;
      Object.defineProperty(Object.prototype, 'value', { get() { seen = true; return 1; }, configurable: true });
      delete Object.prototype.value; return seen; })()`,
};

// Each is one expression or statement that never ends by itself.
const BOMBS: Readonly<Record<string, string>> = {
  'an endless loop': 'for (;;);',
  'an endless loop that catches': 'for (;;) { try { for (;;); } catch {} }',
  'a regular expression': 'return /^(a+)+$/.test("a".repeat(64) + "b")',
  'a native loop': 'const all = new Array(1e6).fill(1); for (;;) all.join().length',
  // None waits for the next, so that memory does not grow.
  'a flood of promises': 'const again = () => { Promise.resolve().then(again); }; again(); await new Promise(() => {})',
  'a thenable': 'return { then(resolve) { resolve(this) } }',
  'a getter': 'return { get a() { for (;;); } }',
  'an endless toJSON': 'return { toJSON() { for (;;); } }',
};
const GROWTH: Readonly<Record<string, string>> = {
  'a string': 'let text = "x"; for (;;) text = (text + text).toUpperCase()',
  'an array': 'const all = []; for (;;) all.push(new Array(1000).fill(1))',
  'a buffer': 'const all = []; for (;;) all.push(new Uint8Array(2 ** 20).fill(1))',
  'a queue of promises': 'const all = []; for (;;) all.push(Promise.resolve().then(() => {}))',
};

describe('escapes', () => {
  const workspace = share(createProgramWorkspace);
  const toolbox = share(() => workspace().toolbox({ trust: true, mode: 'code' }));

  spec('COD-9 COD-2', 'nothing of the host is reachable', async () => {
    const lines = Object.entries(ESCAPES).map(
      ([name, code]) =>
        `await (async () => ${code})().then((out) => out ? found.push(${JSON.stringify(name)}) : 0, () => 0);`,
    );
    const result = await runAsModel(toolbox(), `const found = [];\n${lines.join('\n')}\nreturn found`);
    expect(returned(result)).toEqual([]);
  });

  spec('COD-3 COD-4 COD-9', 'names and results of any kind do not get into results, logs and lines', async () => {
    const odd = defineTool({
      name: 'odd',
      description: 'Returns names that objects have.',
      execute: () => JSON.parse('{"__proto__":{"polluted":1},"then":"x","toJSON":"y"}') as object,
    });
    const result = await runAsModel(
      workspace().toolbox({ trust: true, tools: [odd] }),
      `const odd = await tools.odd();
       console.log(odd.then, ({}).polluted, Object.hasOwn(odd, '__proto__'));
       tools['x'.repeat(1e6)]();
       throw new Error('end');
       //# lines=a,b,c,d,e`,
    );
    expect(result.error).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('end (line 4)') });
    expect(textOf(result)).toContain('x undefined true');
    expect(textOf(result)).toContain('xx… failed after the program had ended');
    expect(JSON.stringify(result).length).toBeLessThan(3000);
    expect(({} as { polluted?: number }).polluted).toBe(undefined);
  });

  spec('COD-9', 'a program that replaces everything changes only its own world', async () => {
    const result = await runAsModel(
      toolbox(),
      `const lie = () => { throw new Error('replaced'); };
       for (const object of [Promise.prototype, Array.prototype, Map.prototype, Object.prototype, JSON, Reflect])
         for (const name of Reflect.ownKeys(object)) { try { object[name] = lie; } catch {} }
       globalThis.__wield?.settle?.('{"id":1,"outcome":{"value":"forged"}}');
       return 1`,
    );
    // It broke itself. The calls that it made are decided on by the parent all the same.
    expect(result.ok ? returned(result) : result.error!.code).toEqual(expect.anything());
    expect(returned(await runAsModel(toolbox(), 'return JSON.stringify([1])'))).toBe('[1]');
  });

  spec('COD-9 COD-2', 'the process of an engine has no environment, files, processes and network', async () => {
    const own = createProgramWorkspace();
    own.script('wait', '#!/bin/sh\n# @description Wait.\nwhile [ ! -e go ]; do sleep 0.05; done\n');
    own.write('secret', CANARY);
    Object.assign(own.env, { CANARY });
    const running = runAsModel(own.toolbox({ trust: true }), 'await tools.wait(); return 1');
    const engines = (): string[][] => ownProcessesWith('code/engine.cjs').map(commandOf).filter(isEngine);
    // A launcher is there before the engine that it starts.
    await expect.poll(ownEngines).not.toEqual([]);
    for (const pid of ownEngines())
      expect(environmentOf(pid).filter((entry) => !/^(WIELD_CALL|TMPDIR|PWD)=/.test(entry))).toEqual([]);
    const commands = engines();
    own.write('go', '');
    expect(returned(await running)).toBe(1);

    // What an engine could do whose interpreter runs other code: the same command line with another program.
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const cache = join(own.env.WIELD_HOME!, 'cache');
    const filter = readdirSync(cache).find((name) => name.startsWith('filter-'));
    const attempt = (command: readonly string[]): readonly string[] => {
      // For the launcher, as descriptor 9.
      const descriptor = openSync(join(cache, filter!), 'r');
      const { stdout } = spawnSync(command[0]!, [...command.slice(1, -2), '-e', attempts(own.dir, port)], {
        env: {},
        cwd: '/',
        encoding: 'utf8',
        timeout: 90_000,
        stdio: ['pipe', 'pipe', 'pipe', ...Array(6).fill('ignore'), descriptor],
      });
      closeSync(descriptor);
      return stdout.trim().split('\n');
    };
    const launched = commands.find(([program]) => program !== process.execPath);
    const plain = commands.find(([program]) => program === process.execPath)!;
    expect(attempt(plain)).toEqual(expect.arrayContaining(['tried', 'connected']));
    expect(attempt(plain).filter((line) => !['tried', 'connected'].includes(line))).toEqual([]);
    if (launched === undefined) return;
    expect(attempt(launched)).toEqual(['tried']);
    // The sandbox alone, without the permission model.
    const flags = /^--(?:experimental-)?permission$|^--allow-/;
    const alone = attempt(launched.filter((word) => !flags.test(word)));
    expect(alone.filter((line) => ['secret', 'written', 'connected'].includes(line))).toEqual([]);
  });
});

/** A program for Node that prints each thing that it could do. */
function attempts(directory: string, port: number): string {
  return `const tries = {
    secret: () => require('node:fs').readFileSync('${directory}/secret'),
    passwords: () => require('node:fs').readFileSync('/etc/passwd'),
    listed: () => require('node:fs').readdirSync('/'),
    written: () => require('node:fs').writeFileSync('${directory}/written', ''),
    temporary: () => require('node:fs').writeFileSync('/tmp/written-by-an-engine', ''),
    spawned: () => { if (require('node:child_process').spawnSync('/bin/true').status !== 0) throw 0; },
    worker: () => new (require('node:worker_threads').Worker)('1', { eval: true }),
    environment: () => { if (process.env.CANARY === undefined) throw 0; },
  };
  for (const [name, attempt] of Object.entries(tries)) { try { attempt(); console.log(name); } catch {} }
  console.log('tried');
  const socket = require('node:net').connect(${port}, '127.0.0.1');
  socket.on('error', () => process.exit()).on('connect', () => { console.log('connected'); process.exit(); });`;
}

function isEngine(command: readonly string[]): boolean {
  return command.at(-1)?.endsWith('quickjs.wasm') === true;
}

describe('bombs', () => {
  const sample = THOROUGH
    ? BOMBS
    : pick(BOMBS, ['an endless loop that catches', 'a regular expression', 'a native loop', 'a getter']);
  for (const [at, [name, code]] of Object.entries(sample).entries()) {
    const prove = at < 1 ? spec : spec.thorough;
    prove('COD-3 COD-9', `${name} is ended, and the server keeps serving`, async () => {
      const workspace = createProgramWorkspace();
      workspace.config('[code]\ncpu = "1s"\n');
      const client = await connectProcess(workspace, 'newer', ['--trust', '--mode', 'code']);
      const bomb = say(client, 'run_code', { code });
      const began = performance.now();
      expect((await say(client, 'run_code', { code: 'return tools.count()' })).text).toBe('{"n": 3}');
      const { error, text } = await bomb;
      // The thenable resolves to itself, which is an error of its own.
      if (name === 'a thenable') expect([error?.code, text]).not.toEqual([undefined, 'ok']);
      else expect(error).toMatchObject({ code: 'timeout', message: expect.stringContaining('(code.cpu)') });
      expect(performance.now() - began).toBeLessThan(patience(60_000));
      expect((await say(client, 'search_tools', { queries: ['count'] })).text).toContain('tools.count()');
    });
  }

  spec('COD-3 COD-9', 'memory, calls and time are limited, and the error names the key', async () => {
    const workspace = createProgramWorkspace();
    workspace.script('wait', '#!/bin/sh\n# @description Wait.\nsleep 600\n');
    workspace.config('[code]\nmemory = "8M"\ncalls = 4\nparallel = 2\n');
    const toolbox = workspace.toolbox({ trust: true });
    const endOf = async (code: string) => (await runAsModel(toolbox, code)).error;
    for (const [name, code] of Object.entries(THOROUGH ? GROWTH : pick(GROWTH, ['an array', 'a buffer'])))
      expect(await endOf(code), name).toMatchObject({ data: { limit: 'code.memory' } });
    expect(await endOf('for (;;) tools.count()')).toMatchObject({ data: { limit: 'code.calls' } });
    expect(await endOf('for (let i = 0; i < 5; i++) await tools.count()')).toMatchObject({
      data: { limit: 'code.calls' },
    });
    // A program that handles its lack of memory goes on.
    const code = 'try { new Uint8Array(2 ** 26) } catch { return "handled" }';
    expect(returned(await runAsModel(toolbox, code))).toBe('handled');
    workspace.config('[code]\ntimeout = "3s"\n');
    expect(await endOf('await tools.wait()')).toMatchObject({ code: 'timeout', data: { limit: 'code.timeout' } });
  });

  spec.thorough('COD-9', 'programs that the compiler cannot read leave it to the others', async () => {
    const toolbox = createProgramWorkspace().toolbox({ trust: true });
    // Each takes exponential time, or more of the stack than the compiler has.
    const texts = [`return ${'<T>('.repeat(60)}1${')'.repeat(60)}`, `let x: ${'('.repeat(5000)}a${')'.repeat(5000)}`];
    const hostile = texts.map((code) => runAsModel(toolbox, code));
    expect(returned(await runAsModel(toolbox, 'const n: number = 1; return n'))).toBe(1);
    for (const { error } of await Promise.all(hostile)) expect(error).toMatchObject({ code: 'too_large' });
    expect(returned(await runAsModel(toolbox, 'enum N { one = 1 }; return N.one'))).toBe(1);
    // The only compiler that waits for the next program is the one that fails.
    expect((await runAsModel(toolbox, texts[1]!)).error).toMatchObject({ code: 'too_large' });
    expect(returned(await runAsModel(toolbox, 'enum N { two = 2 }; return N.two'))).toBe(2);
    expect((await runAsModel(toolbox, 'return (')).error).toMatchObject({ code: 'invalid_input' });
  });

  spec('COD-17', 'many programs at once are all compiled, beside some that the compiler cannot read', async () => {
    const toolbox = createProgramWorkspace().toolbox({ trust: true });
    const slow = (depth: number): string => `return ${'<T>('.repeat(depth)}1${')'.repeat(depth)}`;
    const deep = (depth: number): string => `let x: ${'('.repeat(depth)}a${')'.repeat(depth)}`;
    const hostile = THOROUGH ? [slow(60), slow(61)] : [deep(5000), deep(5001)];
    const refused = hostile.map((code) => runAsModel(toolbox, code));
    // They are compiled, and then need no engine.
    const sent = Array.from({ length: 90 }, (_, at) => runAsModel(toolbox, `const n: number = ${at}; return (`));
    const counted = runAsModel(toolbox, 'const n: number = 1; return n');
    for (const { error } of await Promise.all(sent)) expect(error).toMatchObject({ code: 'invalid_input' });
    expect(returned(await counted)).toBe(1);
    for (const { error } of await Promise.all(refused)) expect(error).toMatchObject({ code: 'too_large' });
  });

  spec(
    'COD-3',
    'at most so many calls run at the same time, and time in calls is not that of the program',
    async () => {
      const workspace = createProgramWorkspace();
      const script = `#!/bin/sh
# @description Note how many run.
mkdir running.$$; ls -d running.* | wc -l >> most; sleep 0.4; rmdir running.$$
`;
      workspace.script('count-running', script);
      workspace.config('[code]\ncpu = "300ms"\nparallel = 2\n');
      const toolbox = workspace.toolbox({ trust: true });
      const code = 'await Promise.all([1, 2, 3, 4].map(() => tools.count_running())); return 1';
      expect(returned(await runAsModel(toolbox, code))).toBe(1);
      const most = readFileSync(join(workspace.dir, 'most'), 'utf8');
      expect(Math.max(...most.trim().split('\n').map(Number))).toBe(2);
    },
  );
});

function pick(all: Readonly<Record<string, string>>, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, all[name]!]));
}

function commandOf(pid: number): string[] {
  return readProcess(pid, 'cmdline');
}

function environmentOf(pid: number): string[] {
  return readProcess(pid, 'environ');
}

function readProcess(pid: number, name: 'cmdline' | 'environ'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}
