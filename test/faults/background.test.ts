// Timers, listeners and background work never end a process: not that of a program, and not a server.

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { guardListener } from '../../src/core/async.js';
import type { CallOptions } from '../../src/index.js';
import { connect } from '../../src/process/helper-connection.js';
import { built } from '../support/built.js';
import { wieldProcess } from '../support/cli.js';
import { serveStdio, until } from '../support/server.js';
import { ROOT } from '../support/sources.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const SLOW = '#!/bin/sh\n# @description Slow.\nsleep 0.8\necho slow\n';

/** Runs a program that uses the built library, and returns its output and status. */
function runProgram(workspace: Workspace, text: string): Promise<{ stdout: string; status: number; stderr: string }> {
  const file = workspace.write('program.mjs', text.replaceAll('DIST', built('')));
  return new Promise((resolve) => {
    const options = { cwd: workspace.dir, env: workspace.env };
    execFile(process.execPath, [file], options, (error, stdout, stderr) =>
      resolve({ stdout, stderr, status: Number(error?.code ?? 0) }),
    );
  });
}

describe.concurrent('a program', () => {
  spec('RUN-13', 'goes on after listeners that fail, at once and later', async () => {
    const workspace = createWorkspace();
    workspace.script('slow', SLOW);
    const run = await runProgram(
      workspace,
      `import { createNodeToolbox } from 'DIST/node.js';
      import { writeFileSync } from 'node:fs';
      const toolbox = createNodeToolbox({ cwd: process.cwd(), env: process.env });
      const later = async () => { await new Promise((resolve) => setTimeout(resolve, 5)); throw new Error('later'); };
      const now = () => { throw new Error('now'); };
      let seen = 0;
      for (const fail of [later, now]) {
        toolbox.on(() => { seen++; return fail(); });
        toolbox.catalog.watch(fail);
        const options = { onProgress: fail, onOutput: fail, onLog: fail };
        const { ok } = await toolbox.call('slow', {}, options);
        console.log(ok);
        writeFileSync('.agents/tools/other', '#!/bin/sh\\n# @description Other.\\necho 1\\n', { mode: 0o755 });
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      await toolbox.close();
      console.log(seen > 2);`,
    );
    expect(run).toEqual({ stdout: 'true\ntrue\ntrue\n', stderr: '', status: 0 });
  });

  spec('RUN-13 RUN-14', 'goes on after calls with wrong options, also slow ones, which fail', async () => {
    const workspace = createWorkspace();
    workspace.script('slow', SLOW);
    const run = await runProgram(
      workspace,
      `import { createNodeToolbox } from 'DIST/node.js';
      const toolbox = createNodeToolbox({ cwd: process.cwd(), env: process.env });
      const callers = [{ kind: 'model', name: 'agent' }, { door: 'x' }, {}, null, 'model', { kind: 'model', door: 5 }, { kind: 'robot', door: 'x' }];
      const results = await Promise.all(callers.map((caller) => toolbox.call('slow', {}, { caller })));
      for (const { error } of results) console.log(error.code, error.message);
      const { ok } = await toolbox.call('slow', {});
      console.log(ok);
      await toolbox.close();`,
    );
    expect(run.stderr).toBe('');
    expect(run.stdout.split('\n')).toEqual([
      'usage caller.door is missing',
      'usage caller.kind is missing',
      'usage caller.kind is missing',
      'usage caller must be an object, got null',
      'usage caller must be an object, got a string',
      "usage caller.door must be a string such as 'library', got the number 5",
      'usage caller.kind must be "person", "model" or "code", got a string',
      'true',
      '',
    ]);
    expect(run.status).toBe(0);
  });
});

describe('a listener', () => {
  spec('RUN-13', 'that fails later is reported, as one that fails at once', async () => {
    const reported: string[] = [];
    const report = (message: string): void => void reported.push(message);
    const later = async (): Promise<void> => {
      throw new Error('later');
    };
    const now = (): void => {
      throw new Error('now');
    };
    await guardListener(later, report)();
    guardListener(now, report)();
    expect(reported).toEqual(['a listener failed: Error: later', 'a listener failed: Error: now']);
  });
});

spec('RUN-14', 'a call of a closed toolbox says so', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', '#!/bin/sh\n# @description Hello.\necho hello >>"$WIELD_WORKDIR/ran"\n');
  const toolbox = workspace.toolbox();
  await toolbox.close();
  expect((await toolbox.call('hello', {})).error).toMatchObject({
    code: 'cancelled',
    message: 'the toolbox was closed',
  });
  expect(readdirSync(workspace.dir)).not.toContain('ran');
});

describe('options', () => {
  spec('RUN-14', 'are checked by every method, with the nearest name', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', '#!/bin/sh\n# @description Hello.\necho hello >>"$WIELD_WORKDIR/ran"\n');
    const toolbox = workspace.toolbox();
    const cases: [object, string, string | undefined][] = [
      [{ timeout: 5 }, 'unknown key "timeout"', 'did you mean "timeoutMs"?'],
      [{ onprogress: () => {} }, 'unknown key "onprogress"', 'did you mean "onProgress"?'],
      [{ timeoutMs: '5' }, 'timeoutMs must be a positive number of milliseconds, got a string', undefined],
      [{ timeoutMs: Number.NaN }, 'timeoutMs must be a positive number of milliseconds, got the number NaN', undefined],
      [{ signal: {} }, 'signal must be an AbortSignal, got an object', undefined],
      [{ onProgress: 'x' }, 'onProgress must be a function, got a string', undefined],
      [{ approve: true }, 'approve must be a function, got true', undefined],
      [{ sandbox: 'all' }, 'sandbox must be "none", got a string', undefined],
      [{ caller: { kind: 'code', door: 'x', nmae: 'y' } }, 'unknown key "caller.nmae"', 'did you mean "name"?'],
      [
        [] as object,
        'the options of a call must be an object',
        'write { caller, signal, timeoutMs, full, trust, approve, elicit, ask, onProgress, onOutput, trace, checkInput }',
      ],
    ];
    for (const [options, message, hint] of cases) {
      const { ok, error } = await toolbox.call('hello', {}, options as CallOptions);
      expect([ok, error?.code, error?.message]).toEqual([false, 'usage', message]);
      if (hint !== undefined) expect(error?.hint).toBe(hint);
      const thrown = { code: 'usage', message };
      await expect(toolbox.plan('hello', {}, options as CallOptions)).rejects.toMatchObject(thrown);
      await expect(toolbox.explain('hello', {}, options as CallOptions)).rejects.toMatchObject(thrown);
    }
    const caller = { kind: 'model' } as never;
    await expect(toolbox.list({ caller })).rejects.toMatchObject({ code: 'usage' });
    await expect(toolbox.search('x', 1, { caller })).rejects.toMatchObject({ code: 'usage' });
    // A hint names no key that only doors of wield set.
    const known = 'known keys: caller, hidden, offer, knownOnly';
    const wrong: [() => Promise<unknown>, string, unknown][] = [
      [() => toolbox.list({ caler: caller } as never), 'unknown key "caler"', 'did you mean "caller"?'],
      [() => toolbox.list({ zzz: 1 } as never), 'unknown key "zzz"', known],
      [() => toolbox.list({ hidden: 'x' } as never), 'hidden must be true or false, got a string', expect.anything()],
      [
        () => toolbox.list(5 as never),
        'the options of a list must be an object',
        'write { caller, hidden, offer, knownOnly }',
      ],
      [() => toolbox.search('x', 10, { foo: 1 } as never), 'unknown key "foo"', 'known keys: caller'],
      [() => toolbox.search('x', 'ten' as never), 'the limit must be a number of 0 or more', undefined],
      [() => toolbox.search(5 as never, 1), 'the query must be a string', expect.anything()],
    ];
    for (const [run, message, hint] of wrong)
      await expect(run()).rejects.toMatchObject({ code: 'usage', message, ...(hint === undefined ? {} : { hint }) });
    const { error } = await toolbox.call('hello', {}, { dispatch: {} } as never);
    expect(error?.hint).toMatch(/^known keys: caller, signal, timeoutMs, .*, checkInput$/);
    expect(error?.hint).not.toMatch(/dispatched|found|operation|joined/);
    expect(readdirSync(workspace.dir)).not.toContain('ran');
    expect((await toolbox.call('hello', {}, { timeoutMs: 60_000, caller: { kind: 'code', door: 'x' } })).ok).toBe(true);
  });
});

// Throws after a while, as a defect would: outside of any call.
const THROWS = `if (process.argv[2] !== undefined && require('node:worker_threads').isMainThread) {
  setTimeout(() => { throw new Error('thrown\\nby a timer'); }, 1500);
  setTimeout(() => { Promise.reject(new Error('rejected')); }, 1600);
}`;

describe.concurrent('the command line', () => {
  spec('CLI-30', 'serves on after an error that nothing handled, with a line on stderr', async () => {
    const workspace = createWorkspace();
    const file = workspace.write('throws.cjs', THROWS);
    const server = serveStdio(workspace, { env: { NODE_OPTIONS: `--require=${file}` } });
    await server.initialize();
    await until(() => server.stderr().includes('rejected'), 'both errors');
    expect(server.stderr().split('\n')).toEqual([
      'warning  unexpected: thrown; wield goes on, please report it',
      'warning  unexpected: rejected; wield goes on, please report it',
      '',
    ]);
    expect((await server.request(1, 'ping')).result).toEqual({});
  });

  spec('CLI-30', 'ends other commands with 70, without a stack', async () => {
    const workspace = createWorkspace();
    workspace.script('slow', SLOW.replace('0.8', '30'));
    const file = workspace.write('throws.cjs', THROWS);
    const env = { NODE_OPTIONS: `--require=${file}` };
    const { status, stderr } = await wieldProcess(workspace, ['call', 'slow'], { env });
    expect([status, stderr]).toEqual([70, 'error  unexpected: thrown\n']);
  });
});

describe('the process helper', () => {
  spec('EXE-77', 'is ended if it sends what cannot be read, and its run fails', async () => {
    const workspace = createWorkspace();
    const line = '{"type":"ended","run":1,\n';
    const entry = workspace.write(
      'helper.cjs',
      `require('node:fs').writeSync(3, ${JSON.stringify(line)}); setTimeout(() => {}, 60_000);`,
    );
    const { world } = workspace.toolbox().machine;
    let isOver = false;
    const connection = await connect(entry, world, {
      onReady() {},
      onEnd() {
        isOver = true;
      },
    });
    const request = { argv: ['/bin/true'], cwd: '/', environment: {}, timeoutMs: 60_000, mark: 'none' };
    const { ended } = connection.run(request as never, { receive() {}, world });
    await expect(ended).rejects.toMatchObject({
      code: 'exec_failed',
      message: expect.stringContaining('invalid message'),
    });
    expect(isOver).toBe(true);
  });
});

describe('the source', () => {
  spec('RUN-13', 'has no promise or asynchronous callback that nothing handles', () => {
    const forbidden =
      /set(?:Timeout|Interval|Immediate)\(async|\.once?\('\w+', async|void [\w.#?!()]+\.then\((?!.*\.catch\()|unhandledRejection|uncaughtException/;
    // The host of modules and the command line are processes of their own.
    const edges = ['executors/module/host/main.ts', 'cli/process-io.ts'];
    const found = readdirSync(`${ROOT}/src`, { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.test)\.tsx?$/.test(file) && !edges.includes(file))
      .flatMap((file) =>
        readFileSync(`${ROOT}/src/${file}`, 'utf8')
          .split('\n')
          .filter((line) => forbidden.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      );
    expect(found).toEqual([]);
  });
});
