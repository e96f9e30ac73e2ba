// Tests of containment: prefixes, parents, links and missing components.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { canonicalPath, containedPath } from './contained-path.js';
import { isWithin } from './within.js';

function createTree(): { base: string; outside: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-within-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const base = join(root, 'base');
  const outside = join(root, 'outside');
  mkdirSync(join(base, 'deep'), { recursive: true });
  mkdirSync(join(outside, 'deep'), { recursive: true });
  writeFileSync(join(base, 'file'), '');
  writeFileSync(join(outside, 'file'), '');
  symlinkSync(join(outside, 'deep'), join(base, 'out'));
  symlinkSync(join(outside, 'missing'), join(base, 'dangling'));
  symlinkSync('../outside/missing', join(base, 'relative'));
  symlinkSync('loop', join(base, 'loop'));
  return { base, outside };
}

test('a path is within a directory only below a separator', () => {
  for (const path of ['/a/b', '/a/b/', '/a/b/c', '/a/b/..c', '/a/b/c/../d', '/a/b/...'])
    expect([path, isWithin('/a/b', path)]).toEqual([path, true]);
  for (const path of ['/a', '/a/bc', '/a/b.txt', '/a/b/..', '/a/b/../c', '/a/b/c/../../d', '/', '/x/a/b'])
    expect([path, isWithin('/a/b', path)]).toEqual([path, false]);
});

test('a contained path is canonical, or undefined if it leads out of every root', () => {
  const { base, outside } = createTree();
  const contained = (path: string, roots = [base]): string | undefined => containedPath(path, { base, roots });
  expect(contained('file')).toBe(join(base, 'file'));
  expect(contained('deep/../new/file')).toBe(join(base, 'new/file'));
  expect(contained('out/../file', [base, outside])).toBe(join(outside, 'file'));
  for (const path of [
    '..',
    '../outside/file',
    'out',
    'out/x',
    'out/../file',
    'dangling',
    'dangling/x',
    'relative',
    'loop',
  ])
    expect([path, contained(path)]).toEqual([path, undefined]);
  expect(contained(outside)).toBeUndefined();
  // A root may be a link itself.
  const linked = join(base, '../linked');
  symlinkSync(base, linked);
  expect(contained('file', [linked])).toBe(join(base, 'file'));
  expect(contained('file', ['../linked/deep'])).toBeUndefined();
  expect(contained('deep', ['../linked/deep'])).toBe(join(base, 'deep'));
  expect(contained(`${base}-sibling`)).toBeUndefined();
  expect(contained('a\0b')).toBeUndefined();
});

test('links and parents are resolved in the order of the system', () => {
  const { base, outside } = createTree();
  expect(canonicalPath('out/../file', base)).toBe(join(outside, 'file'));
  expect(canonicalPath('out/../none', base)).toBe(join(outside, 'none'));
  expect(canonicalPath('dangling', base)).toBe(join(outside, 'missing'));
  expect(canonicalPath('relative/x', base)).toBe(join(outside, 'missing/x'));
  expect(canonicalPath('loop/x', base)).toBeUndefined();
});
