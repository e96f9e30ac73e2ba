// Gate: the tree of ARCHITECTURE.md is the tree of src/, and imports stay within its layer table.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findBlocks, findRows, findSection, ROOT, readDocument } from '../support/documents.js';

const page = readDocument('ARCHITECTURE.md');
const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .sort();
const read = (file: string): string => readFileSync(join(ROOT, 'src', file), 'utf8');

describe('the tree', () => {
  test('has every file with its first line, and no other', () => {
    const actual = files.map(
      (file) =>
        `${file}  ${read(file)
          .split('\n')[0]!
          .replace(/^\/\/ /, '')}`,
    );
    expect(shownTree()).toEqual(actual);
  });

  test('every first line is a sentence', () => {
    for (const file of files) expect(read(file).split('\n')[0], file).toMatch(/^\/\/ .*\.$/);
  });
});

describe('the layers', () => {
  const table = new Map(
    findRows(findSection(page, 'Layers')).map(([folder = '', imports = '']) => [
      folder,
      imports.split(', ').filter((name) => name !== ''),
    ]),
  );

  test('have a row for every folder and file of src/, and only names that exist', () => {
    const layers = [...new Set(files.map(layerOf))].sort();
    expect([...table.keys()].sort()).toEqual(layers);
    for (const name of [...table.values()].flat()) expect(layers).toContain(name);
  });

  test('are kept by every import', () => {
    const crossing = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => layerOf(target) !== layerOf(file))
        .filter((target) => !table.get(layerOf(file))?.includes(layerOf(target)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(crossing).toEqual([]);
  });

  test('only lead downward: a row names rows above it', () => {
    const order = [...table.keys()];
    const upward = order.flatMap((folder, at) =>
      table
        .get(folder)!
        .filter((name) => order.indexOf(name) >= at)
        .map((name) => `${folder}: ${name}`),
    );
    expect(upward).toEqual([]);
  });

  test('core imports nothing of the system', () => {
    for (const file of files.filter((name) => layerOf(name) === 'core'))
      expect(read(file), file).not.toMatch(/from '[^.]/);
  });
});

function layerOf(file: string): string {
  return file.split('/')[0]!;
}

function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from|import\()\s*'(\.[^']*)'/g)].map((match) =>
    relative(ROOT, join(ROOT, dirname(file), match[1]!)).replace(/\.js$/, '.ts'),
  );
}

// Lines `name.ts  sentence`, indented two spaces a folder below `src/`.
function shownTree(): string[] {
  const block = findBlocks(findSection(page, 'The tree'))[0]!;
  const folders: string[] = [];
  const shown: string[] = [];
  for (const line of block.text.split('\n').slice(1)) {
    const depth = /^ */.exec(line)![0].length / 2 - 1;
    const [, name = '', sentence] = /^\s*(\S+)(?:\s+(.*))?$/.exec(line)!;
    folders.length = depth;
    if (name.endsWith('/')) folders.push(name.slice(0, -1));
    else shown.push(`${[...folders, name].join('/')}  ${sentence}`);
  }
  return shown.sort();
}
