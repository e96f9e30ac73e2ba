// Gate: functions and files stay small enough to read.

import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { readSources } from '../support/sources.js';

const MAX_FUNCTION_LINES = 80;
const MAX_MEDIAN_FILE_LINES = 90;

const sources = readSources();

test('no function is longer than a screen', () => {
  const long = sources.flatMap(({ file, text }) =>
    findLongFunctions(text, file.endsWith('x') ? 'tsx' : 'ts').map(
      ({ line, lines }) => `${file}:${line} has ${lines} lines`,
    ),
  );
  expect(long).toEqual([]);
});

test('the median file is short', () => {
  const lengths = sources.map(({ text }) => text.split('\n').length - 1).sort((a, b) => a - b);
  expect(lengths[lengths.length >> 1]).toBeLessThanOrEqual(MAX_MEDIAN_FILE_LINES);
});

test.each([
  ['core/toolbox.ts', 'Toolbox', 10],
  ['runtime/parts.ts', 'CallParts', 9],
])('%s: %s has few members', (file, name, most) => {
  const { text } = sources.find((source) => source.file === file)!;
  expect(countMembers(text, name)).toBeLessThanOrEqual(most);
});

function countMembers(text: string, name: string): number {
  for (const node of parseAst(text, { lang: 'ts' }).body) {
    const declared = 'declaration' in node ? node.declaration : node;
    if (declared?.type === 'TSInterfaceDeclaration' && declared.id.name === name)
      return declared.body.body.length + declared.extends.length;
  }
  throw new Error(`no interface ${name}`);
}

function findLongFunctions(text: string, lang: 'ts' | 'tsx'): { line: number; lines: number }[] {
  const found: { line: number; lines: number }[] = [];
  const countLines = (from: number, to: number): number => text.slice(from, to).split('\n').length;
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) {
      for (const entry of node) visit(entry);
      return;
    }
    if (typeof node !== 'object' || node === null) return;
    const { type, start, end } = node as { type?: string; start?: number; end?: number };
    if (type !== undefined && /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type)) {
      const lines = countLines(start!, end!);
      if (lines > MAX_FUNCTION_LINES) found.push({ line: countLines(0, start!), lines });
    }
    for (const value of Object.values(node)) visit(value);
  };
  visit(parseAst(text, { lang }).body);
  return found;
}
