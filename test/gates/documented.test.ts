// Gate: every exported name, and every member of an exported interface or class, has a comment that editors show.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { expect } from 'vitest';
import { ROOT } from '../support/sources.js';
import { spec } from '../support/spec.js';

// The fields of other programs' formats, which are documented there.
const FOREIGN = /^(?:Anthropic|OpenAI|Ollama|AISDK|Commander|StandardSchema)/;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, { default: string }>;
};

spec('SDK-14', 'everything that a program can import has a sentence', () => {
  const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]));
  const missing = entries.flatMap((entry) => {
    const file = join(ROOT, entry.replace('./dist/', './src/').replace(/\.js$/, '.ts'));
    return exportedFrom(file).flatMap(([of, name]) => undocumentedIn(of, name));
  });
  expect([...new Set(missing)]).toEqual([]);
});

const parsed = new Map<string, { readonly text: string; readonly body: readonly Node[] }>();

function read(file: string) {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, 'utf8');
  const module = { text, body: parseAst(text, { lang: 'ts' }, file).body as unknown as readonly Node[] };
  parsed.set(file, module);
  return module;
}

/** Returns the names that a file exports, each with the file that declares it. */
function exportedFrom(file: string): (readonly [file: string, name: string])[] {
  return read(file).body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return [];
    const source = statement.source as { value: string } | null;
    if (source === null) return declaredBy(statement).map(({ name }) => [file, name] as const);
    const from = join(dirname(file), source.value.replace(/\.js$/, '.ts'));
    return (statement.specifiers as { local: { name: string } }[]).map(({ local }) => [from, local.name] as const);
  });
}

function declaredBy(statement: Node): { readonly name: string; readonly declared: Node }[] {
  const declaration = (statement.declaration ?? statement) as Node & { readonly id?: { readonly name: string } };
  const all = (declaration.declarations as (typeof declaration)[] | undefined) ?? [declaration];
  return all.flatMap((declared) => (declared.id == null ? [] : [{ name: declared.id.name, declared }]));
}

function undocumentedIn(file: string, name: string): string[] {
  const { text, body } = read(file);
  const isDocumented = (node: Node): boolean => text.slice(0, node.start).trimEnd().endsWith('*/');
  const found = body.flatMap((statement) =>
    declaredBy(statement).flatMap((one) => (one.name === name ? [{ statement, ...one }] : [])),
  );
  // The names of a file that it only passes on.
  if (found.length === 0)
    return exportedFrom(file).flatMap(([of, one]) => (one === name && of !== file ? undocumentedIn(of, name) : []));
  const place = `${file.slice(ROOT.length + 1)} ${name}`;
  const whole = found.some(({ statement }) => isDocumented(statement)) ? [] : [place];
  if (FOREIGN.test(name)) return whole;
  const members = found.flatMap(({ declared }) => {
    const { body: inside } = (declared.body ?? {}) as { readonly body?: readonly Node[] };
    return declared.type === 'FunctionDeclaration' ? [] : (inside ?? []);
  });
  const bare = members.filter((member) => !isDocumented(member) && nameOf(member) !== 'constructor');
  return [...whole, ...bare.map((member) => `${place}.${nameOf(member)}`)];
}

function nameOf({ key }: Node): string {
  const { name, value } = (key ?? {}) as { readonly name?: string; readonly value?: string };
  return name ?? value ?? '';
}
