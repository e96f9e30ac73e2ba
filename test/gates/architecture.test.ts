// Gate: the folder table of ARCHITECTURE.md matches src/, and imports follow it.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findRows, findSection, ROOT, readDocument } from '../support/documents.js';
import { readSources } from '../support/sources.js';

const ENTRIES = new Set(['index.ts', 'node.ts', 'install.ts', 'testing.ts', 'helpers.ts', 'code.ts']);

const page = readDocument('ARCHITECTURE.md');
const sources = readSources();

test('every file starts with a one-sentence comment', () => {
  for (const { file, text } of sources) expect(text.split('\n')[0], file).toMatch(/^\/\/ .*\.$/);
});

test('every script that npm run starts prints its first lines for --help', () => {
  const { scripts } = JSON.parse(readDocument('package.json'));
  const started = [
    ...Object.values<string>(scripts)
      .join('\n')
      .matchAll(/node ((?:scripts|bench)\/\S+\.mjs)/g),
  ];
  expect(started.length).toBeGreaterThan(15);
  for (const [, file = ''] of started)
    expect(readDocument(file), file).toMatch(/^(?:\/\/.*\n)+[\s\S]*\nanswerHelp\(import\.meta\.url\);\n/);
  const help = execFileSync(process.execPath, [join(ROOT, 'scripts/mutants.mjs'), '--help'], { encoding: 'utf8' });
  expect(help).toMatch(/^Applies one mutation .*\nUsage: npm run mutants /);
});

describe('the folder table', () => {
  const table = new Map(
    findRows(findSection(page, 'Folders')).map(([folder = '', , imports = '']) => [
      folder,
      imports.split(', ').filter((name) => name !== ''),
    ]),
  );

  test('has a row for every folder, and only rows and names that exist', () => {
    const rows = [...new Set(sources.map(({ file }) => rowOf(file)))].sort();
    expect([...table.keys()].sort()).toEqual(rows);
    for (const name of [...table.values()].flat()) expect(rows).toContain(name);
  });

  test('is followed by every import', () => {
    const crossing = sources.flatMap(({ file, imports }) =>
      imports
        .filter((to) => rowOf(to.file) !== rowOf(file))
        .filter((to) => !table.get(rowOf(file))?.includes(rowOf(to.file)))
        .map((to) => `${file} imports ${to.file}`),
    );
    expect(crossing).toEqual([]);
  });

  test('names no import that is not used', () => {
    const used = new Set(
      sources.flatMap(({ file, imports }) => imports.map((to) => `${rowOf(file)}: ${rowOf(to.file)}`)),
    );
    const unused = [...table].flatMap(([row, imports]) =>
      imports.map((name) => `${row}: ${name}`).filter((edge) => !used.has(edge)),
    );
    expect(unused).toEqual([]);
  });

  test('only leads upward: a row names rows above it', () => {
    const order = [...table.keys()];
    const downward = order.flatMap((row, at) =>
      table
        .get(row)!
        .filter((name) => order.indexOf(name) >= at)
        .map((name) => `${row}: ${name}`),
    );
    expect(downward).toEqual([]);
  });

  test('core imports nothing from the system', () => {
    for (const { file, packages } of sources.filter((source) => rowOf(source.file) === 'core'))
      expect(packages, file).toEqual([]);
  });
});

function rowOf(file: string): string {
  if (ENTRIES.has(file)) return 'entries';
  return file.split('/')[0]!;
}
