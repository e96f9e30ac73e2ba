// Tests of search paths and their helpers.

import { expect } from 'vitest';
import { spec } from '../../test/support/spec.js';
import {
  extractIgnore,
  filterPaths,
  iterPaths,
  mapPaths,
  type PathEntry,
  pathEntryDir,
  readPaths,
} from './search-path.js';

const PATHS: readonly PathEntry[] = ['a', { ignore: 'x*' }, { external: 'b' }, { ignore: 'y' }, 'c'];

spec('RES-5', 'iterPaths yields directories in order and skips ignore entries', () => {
  expect([...iterPaths(PATHS)]).toEqual([
    { dir: 'a', external: false },
    { dir: 'b', external: true },
    { dir: 'c', external: false },
  ]);
  expect([...iterPaths([])]).toEqual([]);
});

spec('RES-5', 'extractIgnore returns the globs', () => {
  expect(extractIgnore(PATHS)).toEqual(['x*', 'y']);
});

spec('RES-5', 'mapPaths removes, keeps and expands directories, and keeps ignore entries', () => {
  const mapped = mapPaths(PATHS, (dir, external, entry) =>
    dir === 'a' ? [] : external ? [entry, `${dir}2`] : [entry],
  );
  expect(mapped).toEqual([{ ignore: 'x*' }, { external: 'b' }, 'b2', { ignore: 'y' }, 'c']);
});

spec('RES-5', 'filterPaths keeps selected directories and ignore entries', () => {
  expect(filterPaths(PATHS, (_dir, external) => external)).toEqual([
    { ignore: 'x*' },
    { external: 'b' },
    { ignore: 'y' },
  ]);
});

spec('RES-5', 'pathEntryDir returns the directory and throws on an ignore entry', () => {
  expect([pathEntryDir('a'), pathEntryDir({ external: 'b' })]).toEqual(['a', 'b']);
  expect(() => pathEntryDir({ ignore: 'x' })).toThrow(
    expect.objectContaining({ code: 'invalid_definition', hint: expect.stringContaining('iterPaths') }),
  );
});

spec('RES-5', 'readPaths returns undefined for invalid search paths', () => {
  expect(readPaths(PATHS)).toBe(PATHS);
  for (const value of [
    'a',
    [''],
    [3],
    ['a\0'],
    [{}],
    [{ external: '' }],
    [{ external: 'a', ignore: 'b' }],
    [{ ignore: '[' }],
    [{ other: 'a' }],
    [null],
    [['a']],
  ])
    expect([value, readPaths(value)]).toEqual([value, undefined]);
});
