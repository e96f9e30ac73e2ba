// The compile cache of the binary.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { expect } from 'vitest';
import { binary } from '../../support/built.js';
import { wieldProcess } from '../../support/cli.js';
import { startWithoutCompiledCode } from '../../support/compiled-code.js';
import { serveStdio, until } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

startWithoutCompiledCode();

const HELLO = '#!/bin/sh\n# @description Says hello.\necho hello\n';
// Later versions of Node have a compile cache of their own, which uses the same directory.
const IS_OWN = Number(process.versions.node.split('.')[0]) < 22;
const OTHER_FORMAT = 'the compile cache is that of Node; to run: use Node 20';

const codeOf = ({ env }: Workspace): string =>
  join(env.WIELD_HOME!, 'cache', 'code', `${process.version}-${process.arch}`);

/** The directory of the code of a command; undefined if there is none. */
const directoryOf = (workspace: Workspace, kind: string): string | undefined => {
  const names = existsSync(codeOf(workspace)) ? readdirSync(codeOf(workspace)) : [];
  return names.filter((name) => name.startsWith(kind)).map((name) => join(codeOf(workspace), name))[0];
};

function filesOf(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const found = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => join(directory, name));
  return found.filter((file) => statSync(file).isFile());
}

/** The code of the file that most of a command is in. */
function findMain(workspace: Workspace): string {
  return filesOf(codeOf(workspace)).find((file) => basename(file).startsWith('main-'))!;
}

/** Writes code for that file that says `planted` where it is used. */
function plant(file: string): void {
  const head = '(function (exports, require, module, __filename, __dirname) {';
  const length = head.length + statSync(join(dirname(binary()), basename(file))).size + '\n})'.length;
  const body = `const run = async () => { require('node:fs').writeSync(1, 'planted'); return 0; };
    const get = () => ({ run, createProcessIo: () => ({}) }); module.exports = new Proxy({}, { get });`;
  const script = new Script(`${head}${body}${' '.repeat(length - head.length - body.length - 2)}})`);
  // What was not compiled yet would be compiled from the true source.
  const module: { exports: Record<string, { run(): unknown; createProcessIo(): unknown }> } = { exports: {} };
  script.runInThisContext()({}, () => ({ writeSync: () => {} }), module);
  const planted = module.exports.any!;
  planted.createProcessIo();
  void planted.run();
  writeFileSync(file, script.createCachedData());
}

spec('CLI-24', 'the first run writes a private cache that later runs use', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  const first = await wieldProcess(workspace, ['call', 'hello']);
  const files = filesOf(codeOf(workspace));
  expect(files.length).toBeGreaterThan(0);
  const states = () => files.map((file) => [statSync(file).mode & 0o077, statSync(file).ino, statSync(file).mtimeMs]);
  const written = states();
  const second = await wieldProcess(workspace, ['call', 'hello']);
  expect([filesOf(codeOf(workspace)), states()]).toEqual([files, written]);
  expect(statSync(directoryOf(workspace, 'call')!).mode & 0o777).toBe(0o700);
  for (const run of [first, second]) expect(run).toEqual({ status: 0, stdout: 'hello\n', stderr: '' });
});

spec('CLI-24', 'code of other builds is removed', async () => {
  const workspace = createWorkspace();
  const other = join(codeOf(workspace), 'list-other');
  mkdirSync(other, { recursive: true, mode: 0o700 });
  writeFileSync(join(other, 'main.cjs'), 'of another build');
  await wieldProcess(workspace, ['list']);
  expect([existsSync(other), filesOf(codeOf(workspace)).length > 0]).toEqual([false, true]);
});

spec('CLI-24', 'a server saves its code while it runs', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  const server = serveStdio(workspace);
  await server.initialize();
  await until(() => filesOf(codeOf(workspace)).length > 0, 'the code is saved');
  server.child.kill('SIGKILL');
});

spec('CLI-24', 'a directory that others can write is not used', async () => {
  const workspace = createWorkspace();
  await wieldProcess(workspace, ['list']);
  const directory = directoryOf(workspace, 'list')!;
  for (const file of filesOf(directory)) rmSync(file);
  chmodSync(directory, 0o770);
  expect(await wieldProcess(workspace, ['list'])).toMatchObject({ status: 0, stderr: '' });
  expect(filesOf(directory)).toEqual([]);
});

specIf(IS_OWN, OTHER_FORMAT, 'CLI-24', 'the cache is used only if it belongs to the user', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  await wieldProcess(workspace, ['call', 'hello']);
  const main = findMain(workspace);
  const called = async () => (await wieldProcess(workspace, ['call', 'hello'])).stdout;
  plant(main);
  expect(await called()).toBe('planted');

  plant(main);
  chmodSync(main, 0o620);
  expect(await called()).not.toContain('planted');

  plant(main);
  chmodSync(main, 0o600);
  chmodSync(dirname(main), 0o770);
  expect(await called()).not.toContain('planted');
  chmodSync(dirname(main), 0o700);
  expect(await called()).toBe('planted');

  const elsewhere = join(workspace.home, 'elsewhere');
  renameSync(main, elsewhere);
  symlinkSync(elsewhere, main);
  expect(await called()).not.toContain('planted');
});

specIf.thorough(IS_OWN, OTHER_FORMAT, 'CLI-24', 'truncated, empty or invalid code is ignored', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  const { stdout } = await wieldProcess(workspace, ['call', 'hello']);
  const main = findMain(workspace);
  const whole = readFileSync(main);
  const wrong = [Buffer.alloc(0), Buffer.from('\n'), whole.subarray(0, whole.length >> 1), Buffer.alloc(whole.length)];
  for (const bytes of wrong) {
    writeFileSync(main, bytes);
    expect(await wieldProcess(workspace, ['call', 'hello'])).toEqual({ status: 0, stdout, stderr: '' });
    expect(readFileSync(main)).not.toEqual(bytes);
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
  expect(filesOf(codeOf(workspace)).length).toBeGreaterThan(0);
  await wieldProcess(workspace, ['doctor', '--clean']);
  expect(filesOf(codeOf(workspace))).toEqual([]);
});
