// The compile cache of the binary.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { expect } from 'vitest';
import { binary } from '../../support/built.js';
import { wieldProcess } from '../../support/cli.js';
import { startWithoutCompiledCode } from '../../support/compiled-code.js';
import { serveStdio, until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

startWithoutCompiledCode();

const HELLO = '#!/bin/sh\n# @description Says hello.\necho hello\n';
const codeOf = ({ env }: Workspace): string =>
  join(env.WIELD_HOME!, 'cache', 'code', `${process.version}-${process.arch}`);
const keptBy = (workspace: Workspace): string => {
  const names = readdirSync(codeOf(workspace));
  expect(names).toHaveLength(1);
  return join(codeOf(workspace), names[0]!);
};

/** Code for the first large file of a run that says `planted` where it is believed. */
function plant(file: string): void {
  const name = readdirSync(dirname(binary())).find((one) => one.startsWith('start-'))!;
  const head = '(function (exports, require, module, __filename, __dirname) {';
  const length = head.length + statSync(join(dirname(binary()), name)).size + '\n})'.length;
  const body = `const run = async () => { require('node:fs').writeSync(1, 'planted'); return 0; };
    const get = () => () => ({ run, createProcessIo: () => ({}) }); module.exports = new Proxy({}, { get });`;
  const script = new Script(`${head}${body}${' '.repeat(length - head.length - body.length - 2)}})`);
  // What was not compiled yet would be compiled from the true source.
  const module: { exports: Record<string, () => { run(): unknown; createProcessIo(): unknown }> } = { exports: {} };
  script.runInThisContext()({}, () => ({ writeSync: () => {} }), module);
  const planted = module.exports.any!();
  planted.createProcessIo();
  void planted.run();
  const code = script.createCachedData();
  const line = `${JSON.stringify({ runs: 2, chunks: [[name, code.length]] })}\n`;
  writeFileSync(file, Buffer.concat([Buffer.from(line), code]));
}

spec('CLI-24', 'the first runs write a private cache per build that later runs read', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  mkdirSync(codeOf(workspace), { recursive: true, mode: 0o700 });
  writeFileSync(join(codeOf(workspace), 'call-0000000000000000'), 'of another build');
  const first = await wieldProcess(workspace, ['call', 'hello']);
  const kept = keptBy(workspace);
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  const second = await wieldProcess(workspace, ['call', 'hello']);
  const { ino } = statSync(kept);
  const third = await wieldProcess(workspace, ['call', 'hello']);
  expect(statSync(kept).ino).toBe(ino);
  for (const run of [first, second, third]) expect(run).toEqual({ status: 0, stdout: 'hello\n', stderr: '' });
});

spec('CLI-24', 'a server saves its code while it runs', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  const server = serveStdio(workspace);
  await server.initialize();
  const hasCode = (): boolean =>
    existsSync(codeOf(workspace)) && readdirSync(codeOf(workspace)).some((name) => name.startsWith('serve-'));
  await until(hasCode, 'the code is saved');
  server.child.kill('SIGKILL');
});

spec('CLI-24', 'the cache is used only if it belongs to the user', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  await wieldProcess(workspace, ['call', 'hello']);
  const kept = keptBy(workspace);
  const called = async () => (await wieldProcess(workspace, ['call', 'hello'])).stdout;
  plant(kept);
  expect(await called()).toBe('planted');

  plant(kept);
  chmodSync(kept, 0o620);
  expect(await called()).not.toContain('planted');

  plant(kept);
  chmodSync(kept, 0o600);
  chmodSync(dirname(kept), 0o770);
  expect(await called()).not.toContain('planted');
  chmodSync(dirname(kept), 0o700);
  expect(await called()).toBe('planted');

  const elsewhere = join(workspace.home, 'elsewhere');
  renameSync(kept, elsewhere);
  symlinkSync(elsewhere, kept);
  expect(await called()).not.toContain('planted');
});

spec.thorough('CLI-24', 'a truncated, empty or invalid cache is ignored', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  await wieldProcess(workspace, ['call', 'hello']);
  const { stdout } = await wieldProcess(workspace, ['call', 'hello']);
  const kept = keptBy(workspace);
  const whole = readFileSync(kept);
  const wrong = [
    Buffer.alloc(0),
    Buffer.from('\n'),
    Buffer.from('{"runs":2}\n'),
    whole.subarray(0, whole.length >> 1),
    Buffer.concat([whole, Buffer.from('more')]),
    Buffer.concat([Buffer.from('{"runs":2,"chunks":[["run.cjs",64]]}\n'), Buffer.alloc(64, 1)]),
    Buffer.alloc(whole.length),
  ];
  for (const bytes of wrong) {
    writeFileSync(kept, bytes);
    expect(await wieldProcess(workspace, ['call', 'hello'])).toEqual({ status: 0, stdout, stderr: '' });
    expect(readFileSync(kept)).not.toEqual(bytes);
  }
});

spec('CLI-24', 'a run that cannot write the cache still succeeds', async () => {
  const workspace = createWorkspace();
  mkdirSync(workspace.env.WIELD_HOME!);
  writeFileSync(join(workspace.env.WIELD_HOME!, 'cache'), 'a file where a directory should be');
  expect(await wieldProcess(workspace, ['list'])).toMatchObject({ status: 0, stderr: '' });
});

spec('CLI-15', 'clean removes the cache and writes none', async () => {
  const workspace = createWorkspace();
  await wieldProcess(workspace, ['list']);
  expect(readdirSync(codeOf(workspace))).toHaveLength(1);
  await wieldProcess(workspace, ['clean']);
  expect(readdirSync(codeOf(workspace))).toEqual([]);
});
