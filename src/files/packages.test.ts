// Tests of what identifies imported code: packages by version and files, and how many files an import may lead to.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readClosure, readImports } from './closure.js';
import { identifyPackages } from './packages.js';

const LATER = (): number => Date.now() + 60_000;

function createTree() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-packages-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (name: string, text: string): string => {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const addPackage = (name: string, manifest: object = {}): string =>
    write(`node_modules/${name}/package.json`, JSON.stringify({ version: '1.0.0', ...manifest }));
  return { root, write, addPackage };
}

test('packages are named with versions and digests, also those of packages', () => {
  const { root, write, addPackage } = createTree();
  addPackage('one', { dependencies: { '@scope/two': '*', '../evil': '*', none: '*' } });
  addPackage('@scope/two', { version: 2, peerDependencies: { one: '*' } });
  addPackage('unused');
  const identify = (text: string) => identifyPackages([{ file: join(root, 'a.mjs'), text }], LATER);
  const before = identify("import 'one'; import './two.js'; import 'node:fs'; require('none')");
  expect(before).toEqual([
    expect.stringMatching(/^package @scope\/two@\? sha256 [0-9a-f]{64}$/),
    expect.stringMatching(/^package one@1\.0\.0 sha256 [0-9a-f]{64}$/),
  ]);
  for (const call of ["createRequire(import.meta.url)('one')", "requireHere ('one/x')", 'await import(`one`)'])
    expect(identify(call)).toEqual(before);
  write('node_modules/one/lib/more.js', '1');
  const after = identify("export * from 'one/lib/more.js'");
  expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
});

test('of more than 200 packages, one digest covers the rest', () => {
  const { root, addPackage } = createTree();
  const names = Array.from({ length: 202 }, (_, at) => `p${String(at).padStart(3, '0')}`);
  for (const name of names) addPackage(name);
  const identify = (count: number) => {
    const text = names.slice(0, count).map((name) => `import '${name}';`);
    return identifyPackages([{ file: join(root, 'a.mjs'), text: text.join('\n') }], LATER);
  };
  expect(identify(200)).toHaveLength(200);
  expect(identify(200).at(-1)).toMatch(/^package p199@/);
  const before = identify(202);
  expect([before.length, before.at(-1)]).toEqual([
    201,
    expect.stringMatching(/^packages: 2 more, sha256 [0-9a-f]{64}$/),
  ]);
  addPackage('p201', { version: '1.0.1' });
  expect(identify(202).map((line, at) => line === before[at])).toEqual([...Array(200).fill(true), false]);
});

test('an import leads to at most 1000 files and 64 MiB', () => {
  const { write } = createTree();
  const imports = (count: number): string =>
    Array.from({ length: count }, (_, at) => `import './m${at}.mjs';`).join('\n');
  for (let at = 0; at < 1000; at++) write(`m${at}.mjs`, '');
  const main = write('main.mjs', imports(999));
  expect(readClosure(main)).toHaveLength(1000);
  writeFileSync(main, imports(1000));
  expect(readClosure(main)).toMatchObject({
    fault: expect.any(String),
    message: expect.stringContaining('1000 files'),
  });
  writeFileSync(main, imports(16));
  const mebibytes = 1024 * 1024;
  const files = Array.from({ length: 16 }, (_, at) => write(`m${at}.mjs`, ''));
  for (const file of files) truncateSync(file, 4 * mebibytes);
  const rest = 4 * mebibytes - imports(16).length;
  truncateSync(files[0]!, rest);
  expect(readClosure(main)).toHaveLength(17);
  truncateSync(files[0]!, rest + 1);
  const tooLarge = { fault: expect.any(String), message: expect.stringContaining('64 MiB') };
  expect(readClosure(main)).toMatchObject(tooLarge);
  // One file alone is neither left out nor cut (TOOL-7).
  writeFileSync(main, imports(1));
  truncateSync(files[0]!, 65 * mebibytes);
  expect(readClosure(main)).toMatchObject(tooLarge);
  expect(readImports(imports(1), main)).toMatchObject(tooLarge);
  truncateSync(files[0]!, 5 * mebibytes);
  expect(readClosure(main)).toMatchObject([{ path: main }, { path: files[0], identity: { size: 5 * mebibytes } }]);
  expect(readImports(imports(1), main)).toHaveLength(1);
});
