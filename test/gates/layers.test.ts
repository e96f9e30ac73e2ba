// Holds the house together: who may import whom, no circles, and the few places that touch the process.

import { describe, expect, test } from 'vitest';
import { readSources } from '../support/sources.js';

/** What each floor may import besides itself; siblings of a family never import each other. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  files: ['core'],
  schema: ['core'],
  descriptor: ['core'],
  process: ['core'],
  config: ['core', 'files'],
  policy: ['core', 'files'],
  resolve: ['core', 'files'],
  formats: ['core', 'files', 'schema', 'descriptor'],
  executors: ['core', 'files', 'process', 'policy'],
  builtin: ['core', 'files', 'schema', 'formats'],
  runtime: ['core', 'policy', 'resolve'],
  consumers: ['core'],
  // The roots wire everything below them.
  '.': [
    'core',
    'files',
    'schema',
    'config',
    'policy',
    'resolve',
    'formats',
    'executors',
    'builtin',
    'runtime',
    'process',
  ],
  cli: ['core', 'files', 'consumers', '.'],
};
const FAMILIES = new Set(['formats', 'executors', 'consumers']);

const sources = readSources();
const floorOf = (file: string): string => (file.includes('/') ? file.split('/')[0]! : '.');
const memberOf = (file: string): string => file.split('/')[1]!.replace(/\.ts$/, '');

describe('layers', () => {
  test('every folder has its row', () => {
    expect([...new Set(sources.map(({ file }) => floorOf(file)))].sort()).toEqual(Object.keys(LAYERS).sort());
  });

  test('a folder imports only from below', () => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports
        .filter(
          (to) => floorOf(to.file) !== floorOf(file) && !LAYERS[floorOf(file)]!.includes(floorOf(to.file)),
        )
        .map((to) => `${file} -> ${to.file}`),
    );
    expect(wrong).toEqual([]);
  });

  test('members of a family ignore each other', () => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports
        .filter((to) => FAMILIES.has(floorOf(file)) && floorOf(to.file) === floorOf(file))
        .filter((to) => memberOf(file) !== 'index' && memberOf(to.file) !== memberOf(file))
        .map((to) => `${file} -> ${to.file}`),
    );
    expect(wrong).toEqual([]);
  });

  test('core imports nothing from outside', () => {
    expect(sources.filter(({ file, packages }) => floorOf(file) === 'core' && packages.length > 0)).toEqual(
      [],
    );
  });

  test('there are no circles', () => {
    const edges = new Map(
      sources.map(({ file, imports }) => [
        file,
        imports.filter((to) => !to.typeOnly && !to.lazy).map((to) => to.file),
      ]),
    );
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, way: readonly string[]): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' -> '));
      if (done.has(file) || way.includes(file)) return;
      for (const to of edges.get(file) ?? []) visit(to, [...way, file]);
      done.add(file);
    };
    for (const file of edges.keys()) visit(file, []);
    expect(circles).toEqual([]);
  });
});

describe('edges', () => {
  const uses = (pattern: RegExp, allowed: RegExp): string[] =>
    sources.filter(({ file, text }) => pattern.test(text) && !allowed.test(file)).map(({ file }) => file);

  test('the process is ended in one place only', () => {
    expect(uses(/process\.exit\(/, /^cli\/(main|run)\.ts$/)).toEqual([]);
  });

  test('environment, home and console are read at the roots only', () => {
    expect(uses(/process\.env|homedir\(|console\./, /^(node\.ts|cli\/)/)).toEqual([]);
  });

  test('processes are spawned in one place, and never by a shell', () => {
    expect(uses(/child_process/, /^process\/(spawn|guard)\.ts$/)).toEqual([]);
    expect(uses(/\bshell:|execSync|\bexec\(['"`]/, /^$/)).toEqual([]);
  });

  test('the validator has one importer', () => {
    const importers = sources.filter(({ packages }) => packages.includes('@cfworker/json-schema'));
    expect(importers.map(({ file }) => file)).toEqual(['schema/explain.ts', 'schema/json.ts']);
  });

  test('shared code never asks for a format by name', () => {
    expect(uses(/\.format === '/, /^(formats|cli)\//)).toEqual([]);
  });

  test('every file says in its first line what it is for', () => {
    expect(sources.filter(({ text }) => !/^\/\/ \S.{10,}/.test(text)).map(({ file }) => file)).toEqual([]);
  });
});
