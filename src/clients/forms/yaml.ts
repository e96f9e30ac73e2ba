// YAML, edited in place by lines of a block mapping.

import type { JsonObject } from '../../core/json.js';
import { lineAt } from '../../core/text.js';
import { type Form, FormFault, type KeyPath } from './form.js';

interface Pair {
  readonly key: string;
  readonly start: number;
  /** End of the last line of the value. */
  readonly end: number;
  readonly value: unknown;
}

export const yamlForm: Form = {
  parse(text) {
    return (parse(text).toJS() as unknown) ?? {};
  },
  set(text, path, value, eol) {
    const [table, name] = assertPath(path);
    const ended = text === '' || text.endsWith('\n') ? text : `${text}${eol}`;
    const outer = findPairs(text, parse(text).contents)?.find(({ key }) => key === table);
    if (outer === undefined) {
      if (parse(text).contents !== null && findPairs(text, parse(text).contents) === undefined) throw notBlock(path);
      return `${ended}${quoteKey(table)}:${eol}${printEntry(name, value, '  ').join(eol)}${eol}`;
    }
    const inner = findPairs(text, outer.value);
    if (inner === undefined) {
      if (!isEmpty(outer.value)) throw notBlock(path);
      const line = text.slice(outer.start, outer.end);
      const bare = line.replace(/:\s*(?:\{\s*\}|~|null)?\s*$/, ':');
      return `${text.slice(0, outer.start)}${bare}${eol}${printEntry(name, value, '  ').join(eol)}${text.slice(outer.end)}`;
    }
    const indent = indentOf(text, inner[0]!.start);
    const lines = printEntry(name, value, indent).join(eol);
    const found = inner.find(({ key }) => key === name);
    if (found !== undefined) return text.slice(0, found.start) + lines.slice(indent.length) + text.slice(found.end);
    const last = inner.at(-1)!;
    return text.slice(0, last.end) + eol + lines + text.slice(last.end);
  },
  remove(text, path) {
    const [table, name] = assertPath(path);
    const outer = findPairs(text, parse(text).contents)?.find(({ key }) => key === table);
    if (outer === undefined) return text;
    const inner = findPairs(text, outer.value);
    if (inner === undefined && !isEmpty(outer.value)) throw notBlock(path);
    const found = inner?.find(({ key }) => key === name);
    if (found === undefined) return text;
    const from = text.lastIndexOf('\n', found.start) + 1;
    return text.slice(0, from) + text.slice(found.end).replace(/^\r?\n/, '');
  },
};

function load(): typeof import('yaml') {
  const { createRequire } = process.getBuiltinModule('node:module');
  return createRequire(import.meta.url)('yaml') as typeof import('yaml');
}

function parse(text: string): import('yaml').Document.Parsed {
  const [document, ...others] = load().parseAllDocuments(text) as import('yaml').Document.Parsed[];
  if (others.length > 0) throw new FormFault('contains more than one document', null);
  const parsed = document ?? load().parseDocument(text);
  const [first] = parsed.errors;
  if (first === undefined) return parsed;
  throw new FormFault(first.message.split('\n')[0]!.replace(/ at line.*$/, ''), lineAt(text, first.pos[0]));
}

// Returns the pairs of a block mapping with scalar keys, or undefined.
function findPairs(text: string, node: unknown): Pair[] | undefined {
  const { isMap, isScalar, isNode } = load();
  if (!isMap(node) || node.flow === true || node.items.length === 0) return undefined;
  return node.items.map(({ key, value }) => {
    if (!isScalar(key)) throw new FormFault('has a key that is not a scalar', null);
    const range = (isNode(value) ? value.range : undefined) ?? key.range!;
    const end = Math.max(range[1], key.range![1]);
    const body = text.slice(0, end).trimEnd().length;
    const lineEnd = /^[^\r\n]*/.exec(text.slice(body))![0].trimEnd().length;
    return { key: String(key.value), start: key.range![0], end: body + lineEnd, value };
  });
}

function isEmpty(node: unknown): boolean {
  const { isMap, isScalar } = load();
  return node === null || (isScalar(node) && node.value === null) || (isMap(node) && node.items.length === 0);
}

function assertPath(path: KeyPath): [string, string] {
  const [table, name, ...more] = path;
  if (table !== undefined && name !== undefined && more.length === 0) return [table, name];
  throw new FormFault('expected an entry of a table', null);
}

function notBlock(path: KeyPath): FormFault {
  return new FormFault(`${path[0]} is not a block mapping`, null);
}

function indentOf(text: string, offset: number): string {
  return /^ */.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))![0];
}

// JSON values are valid YAML, so each field is one line.
function printEntry(name: string, value: JsonObject, indent: string): string[] {
  const fields = Object.entries(value).map(([key, field]) => `${indent}  ${key}: ${JSON.stringify(field)}`);
  return [`${indent}${quoteKey(name)}:`, ...fields];
}

function quoteKey(key: string): string {
  return /^[A-Za-z_][\w-]*$/.test(key) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(key)
    ? key
    : JSON.stringify(key);
}
