// Gate: members of a family do not import each other, there are no import cycles, and few files touch the process.

import { describe, expect, test } from 'vitest';
import { readSources } from '../support/sources.js';

const FAMILIES = new Set(['formats', 'executors']);
// Files directly in a family that know all of its members; `shared/` is for all of them.
const KNOWS_ALL = new Set(['index', 'check']);

const sources = readSources();
const floorOf = (file: string): string => (file.includes('/') ? file.split('/')[0]! : '.');
const memberOf = (file: string): string => file.split('/')[1]!.replace(/\.ts$/, '');

describe('imports', () => {
  test('members of a family ignore each other', () => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports
        .filter((to) => FAMILIES.has(floorOf(file)) && floorOf(to.file) === floorOf(file))
        .filter((to) => !KNOWS_ALL.has(memberOf(file)) && memberOf(to.file) !== 'shared')
        .filter((to) => memberOf(to.file) !== memberOf(file))
        .map((to) => `${file} -> ${to.file}`),
    );
    expect(wrong).toEqual([]);
  });

  test('only the composition roots import extras', () => {
    const importers = sources.filter(({ imports }) => imports.some((to) => floorOf(to.file) === 'extras'));
    const others = importers.filter(({ file }) => !['.', 'extras'].includes(floorOf(file)));
    expect(others.map(({ file }) => file)).toEqual([]);
  });

  test('there are no import cycles, type imports included', () => {
    const edges = new Map(sources.map(({ file, imports }) => [file, imports.map((to) => to.file)]));
    const cycles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, way: readonly string[]): void => {
      const cycle = way.includes(file) ? way.slice(way.indexOf(file)) : [];
      if (cycle.length > 0) cycles.push([...cycle, file].join(' -> '));
      if (done.has(file) || way.includes(file)) return;
      for (const to of edges.get(file) ?? []) visit(to, [...way, file]);
      done.add(file);
    };
    for (const file of edges.keys()) visit(file, []);
    expect(cycles).toEqual([]);
  });
});

describe('edges', () => {
  const uses = (pattern: RegExp, allowed: RegExp): string[] =>
    sources.filter(({ file, text }) => pattern.test(text) && !allowed.test(file)).map(({ file }) => file);

  test('only the entry points exit the process', () => {
    expect(
      uses(
        /process\.exit\(/,
        /^(cli\/(main|process-io)|executors\/module\/host\/main|process\/(helper|first-start|egress)-main|upstream\/broker\/main|code\/engine\/main)\.ts$/,
      ),
    ).toEqual([]);
  });

  test('only the roots use the environment, the home directory and the console', () => {
    expect(uses(/process\.env|homedir\(|console\./, /^(workspace\/machine|cli\/(main|process-io))\.ts$/)).toEqual([]);
  });

  test('commands use the streams, the current directory and the signals of the process through their Io only', () => {
    expect(uses(/process\.(std|argv|cwd|on\b)|Sync\([012]\b/, /^(?!cli\/)|^cli\/(main|process-io)\.ts$/)).toEqual([]);
  });

  test('processes are spawned in one place, never through a shell', () => {
    expect(uses(/^import (?!type)[^;]*child_process/m, /^process\/(start|egress-main)\.ts$/)).toEqual([]);
    expect(uses(/\bshell:|execSync|(?<!\.)\bexec\(['"`]/, /^$/)).toEqual([]);
  });

  test('requests to other machines are sent by the network of the settings', () => {
    expect(uses(/createGuardedFetch/, /^(net\/(fetch|routes)|executors\/http\/exchange)\.ts$/)).toEqual([]);
    const isBound = /(?:const|let|function) fetch\b|\bfetch(?:,|:| \})|\bfetch\([^)]*\)(?:: [\w<>]+)? \{/;
    const global = sources.filter(({ text }) => /(?<![.\w#])fetch\(/.test(text) && !isBound.test(text));
    expect(global.map(({ file }) => file).filter((file) => !file.startsWith('ui/page/'))).toEqual([]);
  });

  test('rmSync, which hides the code of an error in Node 24, is not used', () => {
    expect(uses(/\brmSync\b/, /^files\/remove\.ts$/)).toEqual([]);
  });

  test('shared code never checks a format by name', () => {
    expect(uses(/\.format === '/, /^(formats|cli)\//)).toEqual([]);
  });
});
