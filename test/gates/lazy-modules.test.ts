// Gate: the modules of the binary are evaluated on first use, in whatever file they are, and a circle stops the build.

import { describe, expect, test } from 'vitest';
// @ts-expect-error: a script of the build, without types
import { packModules, toModules } from '../../scripts/lazy-modules.mjs';

interface Chunk {
  readonly fileName: string;
  readonly imports: readonly string[];
  readonly code: string;
}

const exporting = (...names: readonly string[]): string =>
  names
    .map(
      (name) => `Object.defineProperty(exports, "${name}", { enumerable: true, get: function() { return ${name}; } });`,
    )
    .join('\n');

const CHUNKS: readonly Chunk[] = [
  {
    fileName: 'src.main.cjs',
    imports: ['src.shape.cjs', 'src.count.cjs'],
    code: `const require_shape = require("./src.shape.cjs");
const require_count = require("./src.count.cjs");
let node_path = require("node:path");
log.push("main");
const area = (side) => new require_shape.Square(side).area();
const next = () => [require_count.increase(), require_count.count];
const base = () => (0, node_path.basename)("/a/b");
const later = () => Promise.resolve().then(() => require("./src.shape.cjs"));
${exporting('area', 'next', 'base', 'later')}`,
  },
  {
    fileName: 'src.shape.cjs',
    imports: ['npm.thing.cjs'],
    code: `const require_thing = require("./npm.thing.cjs");
log.push("shape");
var Square = class { constructor(side) { this.side = side; } area() { return require_thing.square(this.side); } };
${exporting('Square')}`,
  },
  {
    fileName: 'src.count.cjs',
    imports: [],
    code: `log.push("count");\nlet count = 0;\nfunction increase() { return ++count; }\n${exporting('count', 'increase')}`,
  },
  { fileName: 'npm.thing.cjs', imports: [], code: `log.push("thing");\nexports.square = (side) => side * side;` },
];
const isOwn = ({ fileName }: Chunk): boolean => fileName.startsWith('src.');

/** Evaluates packed files. */
function load(texts: Map<string, string>, log: string[]) {
  const loaded = new Map<string, { exports: unknown }>();
  const evaluate = (id: string): unknown => {
    const text = texts.get(id.slice(2));
    if (text === undefined) return process.getBuiltinModule(id);
    const known = loaded.get(id);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    loaded.set(id, module);
    new Function('require', 'module', 'exports', 'log', text)(evaluate, module, module.exports, log);
    return module.exports;
  };
  return evaluate('./src.main.cjs') as {
    area(side: number): number;
    next(): [number, number];
    base(): string;
    later(): Promise<{ Square: unknown }>;
  };
}

describe('modules of the binary', () => {
  test.each([
    ['one file', () => 'all'],
    ['a file each', ({ fileName }: Chunk) => fileName.replace(/^(.*)\.cjs$/, 'file.$1')],
    ['two files', ({ fileName }: Chunk) => (/main|thing/.test(fileName) ? 'a' : 'b')],
  ])('are evaluated when an export is first used, in %s', async (_title, fileOf) => {
    const log: string[] = [];
    const main = load(packModules(toModules(CHUNKS, isOwn), { fileOf, entries: ['src.main.cjs'] }), log);
    expect(log).toEqual(['main']);
    // A variable that changes stays up to date.
    expect([main.next(), main.next()]).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(log).toEqual(['main', 'count']);
    expect([main.area(3), main.base()]).toEqual([9, 'b']);
    expect((await main.later()).Square).toBeTypeOf('function');
    expect(log).toEqual(['main', 'count', 'shape', 'thing']);
  });

  test('a circle of imports stops the build and is named', () => {
    const circle = [
      { fileName: 'src.a.cjs', imports: ['src.b.cjs'], code: '' },
      { fileName: 'src.b.cjs', imports: ['src.a.cjs'], code: '' },
    ];
    expect(() => toModules(circle, isOwn)).toThrow('modules import each other: src.a.cjs -> src.b.cjs -> src.a.cjs');
  });
});
