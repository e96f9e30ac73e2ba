// Ties spec/ and the tests together: every built statement has a test, every citation a statement.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STATEMENT = /^- `([A-Z]+-\d+)` (.*)$/;
const CITATION = /\bspec\(\s*(?:'([^']*)'|"([^"]*)")/g;

interface Statement {
  readonly id: string;
  readonly file: string;
  readonly planned: boolean;
  readonly untested: boolean;
}

function readStatements(): Statement[] {
  return readdirSync(join(ROOT, 'spec')).flatMap((file) =>
    readFileSync(join(ROOT, 'spec', file), 'utf8')
      .split('\n')
      .map((line) => STATEMENT.exec(line))
      .filter((match) => match !== null)
      .map(([, id, text]) => ({
        id: id!,
        file,
        planned: text!.endsWith('(planned)'),
        untested: /\(untested: [^)]+\)$/.test(text!),
      })),
  );
}

function testFiles(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') || directory === 'test')
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => join(directory, name));
}

function readCitations(): Map<string, string> {
  const cited = new Map<string, string>();
  for (const file of [...testFiles('src'), ...testFiles('test')]) {
    if (file.endsWith('support/spec.ts') || file.endsWith('gates/spec.test.ts')) continue;
    for (const match of readFileSync(join(ROOT, file), 'utf8').matchAll(CITATION)) {
      for (const id of (match[1] ?? match[2])!.split(/\s+/)) cited.set(id, file);
    }
  }
  return cited;
}

describe('spec/', () => {
  const statements = readStatements();
  const citations = readCitations();

  test('has statements, each id once', () => {
    expect(statements.length).toBeGreaterThan(200);
    const ids = statements.map((statement) => statement.id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test('every built statement has an executing test', () => {
    const missing = statements.filter(
      ({ id, planned, untested }) => !planned && !untested && !citations.has(id),
    );
    expect(missing.map(({ id, file }) => `${file}: ${id}`)).toEqual([]);
  });

  test('every citation names a statement', () => {
    const known = new Set(statements.map((statement) => statement.id));
    const unknown = [...citations].filter(([id]) => !known.has(id));
    expect(unknown.map(([id, file]) => `${file}: ${id}`)).toEqual([]);
  });

  test('no planned statement is proved already', () => {
    const done = statements.filter(({ id, planned }) => planned && citations.has(id));
    expect(done.map(({ id }) => `${id} is cited by ${citations.get(id)} and still (planned)`)).toEqual([]);
  });
});
