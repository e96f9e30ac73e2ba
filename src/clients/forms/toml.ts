// TOML, edited in place: whole tables, and lines in arrays of strings, where comments and other lines stay as they are.

import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { lineOf, parseToml } from '../../files/toml.js';
import { type Form, FormFault, type KeyPath, valueAt } from './form.js';

export const tomlForm: Form = {
  parse(text) {
    const read = parseToml(text, { bigIntegers: true });
    if ('message' in read) throw new FormFault(read.message, read.line);
    return read.document;
  },
  set(text, path, value, eol) {
    const block = printTable(path, value).join(eol);
    const found = findTable(text, path);
    if (found !== undefined) return text.slice(0, found.start) + block + text.slice(found.end);
    assertTables(text, path);
    const end = text === '' ? '' : text.endsWith('\n') ? eol : `${eol}${eol}`;
    const edited = `${text}${end}${block}${eol}`;
    if ('message' in parseToml(edited, { bigIntegers: true })) throw notExtensible(text, path.slice(0, -1));
    return edited;
  },
  remove(text, path) {
    const found = findTable(text, path);
    if (found === undefined) {
      assertTables(text, path);
      return text;
    }
    const rest = text.slice(found.end).replace(/^\r?\n/, '');
    return text.slice(0, found.start) + rest;
  },
};

// Inline tables are not edited.
function assertTables(text: string, path: KeyPath): void {
  if (valueAt(tomlForm.parse(text), path) === undefined) return;
  throw new FormFault(`${path.join('.')} is not a separate table`, lineOf(text, path));
}

// An inline table, or no table at all.
function notExtensible(text: string, path: KeyPath): FormFault {
  const name = path.map(printKey).join('.');
  return new FormFault(`${name} cannot be added to; write it as tables such as [${name}.NAME]`, lineOf(text, path));
}

function printTable(path: KeyPath, value: JsonObject): string[] {
  const fields = Object.entries(value);
  return [
    `[${path.map(printKey).join('.')}]`,
    ...fields.filter(([, field]) => !isRecord(field)).map(([key, field]) => `${printKey(key)} = ${print(field)}`),
    ...fields.flatMap(([key, field]) =>
      isRecord(field) ? ['', ...printTable([...path, key], field as JsonObject)] : [],
    ),
  ];
}

function printKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : print(key);
}

function print(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(print).join(', ')}]`;
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}

/** Returns the range of a table and its subtables. */
function findTable(text: string, path: KeyPath): { start: number; end: number } | undefined {
  const headers = findHeaders(text);
  const at = headers.findIndex(({ keys }) => keys.length === path.length && startsWith(keys, path));
  if (at === -1) return undefined;
  let next = at + 1;
  while (next < headers.length && startsWith(headers[next]!.keys, path)) next++;
  const start = headers[at]!.offset;
  const region = text.slice(start, headers[next]?.offset ?? text.length);
  // Comments and blank lines before the next table belong to it.
  const kept = next < headers.length ? region.replace(/(?:\r?\n[ \t]*(?:#[^\n]*)?)*$/, '') : region.trimEnd();
  return { start, end: start + kept.length };
}

function startsWith(keys: KeyPath, path: KeyPath): boolean {
  return path.every((key, index) => keys[index] === key);
}

interface Header {
  readonly offset: number;
  readonly keys: KeyPath;
}

const HEADER = /\[{1,2}((?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\]"'\n])*)\]{1,2}/y;
const COMMENT = /#[^\n]*/y;
const STRINGS = [
  /"""(?:\\[\s\S]|[^\\])*?"""(?:"{0,2})/y,
  /'''[\s\S]*?'''(?:'{0,2})/y,
  /"(?:\\.|[^"\\\n])*"/y,
  /'[^'\n]*'/y,
];

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

// Returns the string at an offset as it is written; undefined if there is none.
function stringAt(text: string, at: number): string | undefined {
  return STRINGS.map((pattern) => matchAt(pattern, text, at)).find((found) => found !== null)?.[0];
}

// Finds headers: at the start of a line, outside strings, comments and arrays.
function findHeaders(text: string): Header[] {
  const headers: Header[] = [];
  let depth = 0;
  let lineStart = true;
  for (let at = 0; at < text.length; ) {
    const character = text[at]!;
    const header = lineStart && depth === 0 && character === '[' ? matchAt(HEADER, text, at) : null;
    if (header !== null) {
      headers.push({ offset: at, keys: splitKeys(header[1]!) });
      at += header[0].length;
    } else if (character === '#') at += matchAt(COMMENT, text, at)![0].length;
    else if (character === '"' || character === "'") at += stringAt(text, at)?.length ?? 1;
    else {
      if (character === '[' || character === '{') depth++;
      else if (character === ']' || character === '}') depth--;
      at++;
    }
    lineStart = character === '\n' || (lineStart && /[ \t\r]/.test(character));
  }
  return headers;
}

function splitKeys(text: string): string[] {
  return (text.match(/"(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+/g) ?? []).map((key) =>
    key.startsWith('"') ? (JSON.parse(key) as string) : key.replace(/^'|'$/g, ''),
  );
}

/** A line to add: the text of a value, and a comment after it. */
export interface AddedLine {
  readonly value: string;
  readonly comment: string;
}

/** Lines to add before the element at this position; that after the last one is the number of elements. */
export type Additions = ReadonlyMap<number, readonly AddedLine[]>;

/**
 * Returns the text with the lines in the array of a key of a table, which is created if the table has none. Undefined if there is
 * no such table, or the value is neither a string nor an array of strings: then nothing can be added in place.
 */
export function addToArray(text: string, table: KeyPath, key: string, additions: Additions): string | undefined {
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n';
  const headers = findHeaders(text);
  const at = headers.findIndex(({ keys }) => keys.join('\0') === table.join('\0'));
  if (at === -1) return undefined;
  const start = headers[at]!.offset;
  const end = headers[at + 1]?.offset ?? text.length;
  const assignment = new RegExp(`^[ \\t]*(?:${key}|"${key}"|'${key}')[ \\t]*=[ \\t]*`, 'm').exec(
    text.slice(start, end),
  );
  if (assignment === null) {
    const lines = [...additions.values()].flat().map(printLine);
    const line = /^[^\n]*/.exec(text.slice(start))![0].replace(/\r$/, '');
    const block = [`${key} = [`, ...lines.map((one) => `  ${one}`), ']'].join(eol);
    return `${text.slice(0, start + line.length)}${eol}${block}${text.slice(start + line.length)}`;
  }
  const from = start + assignment.index + assignment[0].length;
  const single = text[from] === '[' ? undefined : stringAt(text, from);
  if (single !== undefined) {
    const whole = `${text.slice(0, from)}[${single}]${text.slice(from + single.length)}`;
    return addToArray(whole, table, key, additions);
  }
  const array = text[from] === '[' ? findElements(text, from) : undefined;
  if (array === undefined) return undefined;
  const { elements, close } = array;
  if (!text.slice(from, close).includes('\n')) {
    const own = elements.map(({ start: first, end: last }) => ({ value: text.slice(first, last), comment: '' }));
    const lines = [...own, undefined].flatMap((line, index) => [
      ...(additions.get(index) ?? []),
      ...(line ? [line] : []),
    ]);
    return `${text.slice(0, from)}[${eol}${lines.map((line) => `  ${printLine(line)}${eol}`).join('')}${text.slice(close)}`;
  }
  const edits: { readonly at: number; readonly text: string }[] = [];
  for (const [index, lines] of additions) {
    const before = elements[index - 1];
    const place = before === undefined ? from + 1 : (before.comma ?? before.end);
    const comment = /^[ \t]*(?:#[^\n]*)?(?=\r?\n|$)/.exec(text.slice(place))?.[0] ?? '';
    const rest = /^[^\n]*/.exec(text.slice(place + comment.length))![0].trim();
    const added = lines.map((line) => `${eol}  ${printLine(line)}`).join('');
    edits.push({ at: place + comment.length, text: rest === '' ? added : `${added}${eol}  ` });
    // After the last element, which may have none.
    if (before !== undefined && before.comma === undefined) edits.push({ at: before.end, text: ',' });
  }
  return edits
    .toSorted((a, b) => b.at - a.at)
    .reduce((edited, edit) => edited.slice(0, edit.at) + edit.text + edited.slice(edit.at), text);
}

function printLine({ value, comment }: AddedLine): string {
  return `${value},${comment === '' ? '' : ` # ${comment}`}`;
}

interface Element {
  readonly start: number;
  readonly end: number;
  /** After the comma. */
  comma: number | undefined;
}

// Undefined if it has others than strings.
function findElements(text: string, open: number): { elements: Element[]; close: number } | undefined {
  const elements: Element[] = [];
  for (let at = open + 1; at < text.length; ) {
    const character = text[at]!;
    if (character === ']') return { elements, close: at };
    if (character === '#') at += /^[^\n]*/.exec(text.slice(at))![0].length;
    else if (character === ',') {
      const last = elements.at(-1);
      if (last === undefined) return undefined;
      at++;
      last.comma = at;
    } else if (/\s/.test(character)) at++;
    else {
      const string = stringAt(text, at);
      if (string === undefined) return undefined;
      elements.push({ start: at, end: at + string.length, comma: undefined });
      at += string.length;
    }
  }
  return undefined;
}
