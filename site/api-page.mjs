// The reference page of the library, from the built declarations of everything that `package.json` exports.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { ROOT } from './outline.mjs';

const HEAD = `# API

What the package exports, with its declarations. [Typed tools](../guides/typed-tools.md), [model SDKs](../guides/model-sdks.md)
and [helpers](helpers.md) show how to use it.
`;

/** Returns the page: a section for each entry of the package, and in it each name once. */
export function toApiPage() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const seen = new Map();
  const sections = Object.entries(exports).flatMap(([key, entry]) => {
    if (typeof entry === 'string') return [];
    const specifier = key.replace(/^\./, 'wield');
    const again = [];
    const parts = namesOf(join(ROOT, entry.types)).flatMap(({ file, name }) => {
      const id = `${file} ${name}`;
      if (seen.has(id)) again.push(`\`${name}\` of \`${seen.get(id)}\``);
      if (seen.has(id)) return [];
      seen.set(id, specifier);
      return [describe(file, name)];
    });
    const also = again.length === 0 ? '' : `Also ${again.join(', ')}.\n\n`;
    return [`## ${specifier}\n\n${also}${parts.join('\n')}`];
  });
  return `${HEAD}\n${sections.join('\n').trimEnd()}\n`;
}

function describe(file, name) {
  const { text, body } = declarationsOf(file);
  const statements = body.filter((statement) => declaredNames(statement).includes(name));
  if (statements.length === 0) throw new Error(`${file} does not declare ${name}`);
  const comments = statements.map(
    ({ start }) => /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, start))?.[1] ?? '',
  );
  const about = (comments.find((comment) => comment !== '') ?? '').replace(/^\s*\* ?/gm, '').trim();
  const code = statements.map(({ start, end }) => text.slice(start, end).replace(/^export (?:declare )?/, ''));
  return `### ${name}\n\n${about}\n\n\`\`\`ts\n${code.join('\n').replace(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 2))}\n\`\`\`\n`;
}

const declared = new Map();

function declarationsOf(file) {
  if (!declared.has(file)) {
    const text = readFileSync(file, 'utf8');
    declared.set(file, { text, body: parseAst(text, { lang: 'dts' }, file).body });
  }
  return declared.get(file);
}

/** Returns the names that a file exports, each with the file that declares it. */
function namesOf(file) {
  const { body } = declarationsOf(file);
  const find = (source, name) => {
    const from = join(dirname(file), source.value.replace(/\.js$/, '.d.ts'));
    const found = namesOf(from).find((one) => one.name === name);
    if (found === undefined) throw new Error(`${from} does not export ${name}`);
    return found;
  };
  // Where a file imports a name from that it passes on.
  const importOf = (name) =>
    body.find(
      ({ type, specifiers }) =>
        type === 'ImportDeclaration' && specifiers.some((specifier) => specifier.local.name === name),
    )?.source;
  return body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return [];
    const own = declaredNames(statement).map((name) => ({ file, name }));
    if (own.length > 0) return own;
    return statement.specifiers.map(({ local: { name } }) => {
      const source = statement.source ?? importOf(name);
      return source === undefined ? { file, name } : find(source, name);
    });
  });
}

function declaredNames(statement) {
  const declaration = statement.declaration ?? statement;
  return (declaration.declarations ?? [declaration]).flatMap(({ id }) => (id == null ? [] : [id.name]));
}
