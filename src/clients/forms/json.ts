// JSON with comments and trailing commas, edited in place.

import type { Node } from 'jsonc-parser';
import type { Json, JsonObject } from '../../core/json.js';
import { lineAt } from '../../core/text.js';
import { loadJsonc } from '../../files/libraries.js';
import { isTable } from '../tables.js';
import { type Form, FormFault, type KeyPath } from './form.js';

const LENIENT = { allowTrailingComma: true, allowEmptyContent: true } as const;

export const jsonForm: Form = {
  parse(text) {
    const root = parseTree(text) ?? emptyObject();
    assertTablesOnce(text, root);
    return loadJsonc().getNodeValue(root) as unknown;
  },
  set(text, path, value, eol) {
    const root = parseTree(text);
    const unit = indentUnit(text);
    if (root === undefined) {
      const before = text === '' || text.endsWith('\n') ? text : `${text}${eol}`;
      return `${before}${format(nest(path, value), '', unit, eol)}${eol}`;
    }
    let node = assertObject(text, root, []);
    for (let at = 0; at < path.length; at++) {
      const found = findProperty(node, path[at]!);
      if (found === undefined) return insert(text, node, path[at]!, nest(path.slice(at + 1), value), eol);
      const child = found.children![1]!;
      if (at === path.length - 1) {
        const inner = format(value, lineIndent(text, found.offset), unit, eol);
        return splice(text, child.offset, child.offset + child.length, inner);
      }
      node = assertObject(text, child, path.slice(0, at + 1));
    }
    throw new FormFault('an entry needs a key', null);
  },
  remove(text, path) {
    const node = loadJsonc().findNodeAtLocation(parseTree(text) ?? emptyObject(), [...path]);
    const property = node?.parent;
    if (property?.type !== 'property' || property.parent === undefined) return text;
    const siblings = property.parent.children!;
    const next = siblings[siblings.indexOf(property) + 1];
    const previous = siblings[siblings.indexOf(property) - 1];
    const end = property.offset + property.length;
    const comma = findComma(text, end, next?.offset ?? property.parent.offset + property.parent.length - 1);
    const withoutIt = cutLine(text, property.offset, comma === undefined ? end : comma + 1);
    if (comma !== undefined || previous === undefined) return withoutIt;
    // The last entry: also removes the comma before it.
    const lead = findComma(text, previous.offset + previous.length, property.offset);
    return lead === undefined ? withoutIt : splice(withoutIt, lead, lead + 1, '');
  },
};

/** Returns the line of the key at a path, or null. Throws `FormFault`. */
export function findJsonLine(text: string, path: KeyPath): number | null {
  const node = loadJsonc().findNodeAtLocation(parseTree(text) ?? emptyObject(), [...path]);
  return node === undefined ? null : lineAt(text, node.parent?.offset ?? node.offset);
}

function emptyObject(): Node {
  return { type: 'object', offset: 0, length: 0, children: [] };
}

function parseTree(text: string): Node | undefined {
  const { parseTree: parse, printParseErrorCode } = loadJsonc();
  const errors: import('jsonc-parser').ParseError[] = [];
  const root = parse(text, errors, LENIENT);
  const [first] = errors;
  if (first === undefined) return root;
  const words = printParseErrorCode(first.error).replace(/([a-z])([A-Z])/g, '$1 $2');
  throw new FormFault(words.toLowerCase(), lineAt(text, first.offset));
}

// Programs disagree on which one of two tables wins.
function assertTablesOnce(text: string, { type, children = [] }: Node): void {
  const seen = new Set<string>();
  for (const { offset, children: [name] = [] } of type === 'object' ? children : []) {
    const key = String(name?.value);
    if (seen.has(key) && isTable(key))
      throw new FormFault(`has the key "${key}" twice; keep one`, lineAt(text, offset));
    seen.add(key);
  }
}

function assertObject(text: string, node: Node, path: KeyPath): Node {
  if (node.type === 'object') return node;
  const where = path.length === 0 ? 'the document' : path.join('.');
  throw new FormFault(`${where} must be an object`, lineAt(text, node.offset));
}

function findProperty(node: Node, key: string): Node | undefined {
  return node.children!.find((property) => property.children?.[0]?.value === key);
}

function insert(text: string, parent: Node, key: string, value: Json, eol: string): string {
  const unit = indentUnit(text);
  const last = parent.children!.at(-1);
  const start = parent.offset + 1;
  const close = parent.offset + parent.length - 1;
  const spread = text.slice(start, close).includes('\n');
  if (last === undefined) {
    const own = lineIndent(text, parent.offset);
    const line = `${eol}${own}${unit}${property(key, value, own + unit, unit, eol)}`;
    return splice(text, start, start, spread ? line : `${line}${eol}${own}`);
  }
  const end = last.offset + last.length;
  const comma = findComma(text, end, close);
  const after = comma === undefined ? end : comma + 1;
  if (!text.slice(start, last.offset).includes('\n')) {
    const inline = `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    return splice(text, after, after, comma === undefined ? `, ${inline}` : ` ${inline},`);
  }
  const indent = lineIndent(text, last.offset);
  // A comment at the end of the line stays there.
  const lineEnd = spread ? endOfComments(text, after, close) : after;
  const line = `${eol}${indent}${property(key, value, indent, unit, eol)}${comma === undefined ? '' : ','}`;
  const added = splice(text, lineEnd, lineEnd, line);
  return comma === undefined ? splice(added, end, end, ',') : added;
}

function property(key: string, value: Json, indent: string, unit: string, eol: string): string {
  return `${JSON.stringify(key)}: ${format(value, indent, unit, eol)}`;
}

function format(value: Json, indent: string, unit: string, eol: string): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`);
}

function nest(path: KeyPath, value: JsonObject): JsonObject {
  return path.reduceRight<JsonObject>((inner, key) => ({ [key]: inner }), value);
}

// Returns the offset of the comma in a range, skipping comments.
function findComma(text: string, from: number, to: number): number | undefined {
  const scanner = loadJsonc().createScanner(text, true);
  scanner.setPosition(from);
  scanner.scan();
  const at = scanner.getTokenOffset();
  return at < to && text[at] === ',' ? at : undefined;
}

// Returns where whitespace and comments of this line end.
function endOfComments(text: string, from: number, to: number): number {
  const rest = /^(?:[ \t]|\/\*[^\r\n]*?\*\/)*(?:\/\/[^\r\n]*)?/.exec(text.slice(from, to))![0];
  return from + rest.trimEnd().length;
}

// Removes a range, and its line if nothing else is on it.
function cutLine(text: string, from: number, to: number): string {
  const lineStart = text.lastIndexOf('\n', from - 1) + 1;
  const rest = /^[ \t]*(?:\r?\n)?/.exec(text.slice(to))![0];
  const alone = text.slice(lineStart, from).trim() === '' && lineStart > 0;
  if (alone && rest.endsWith('\n')) return splice(text, lineStart, to + rest.length, '');
  return splice(text, from, to + (rest.endsWith('\n') ? 0 : rest.length), '');
}

function indentUnit(text: string): string {
  const found = /\n([ \t]+)\S/.exec(text)?.[1];
  return found === undefined ? '  ' : found.startsWith('\t') ? '\t' : found.slice(0, 10);
}

function lineIndent(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset))![0];
}

function splice(text: string, from: number, to: number, inserted: string): string {
  return text.slice(0, from) + inserted + text.slice(to);
}
