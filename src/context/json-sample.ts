// Reads the beginnings of the arrays and objects in large JSON text, for its shape.

import { orNothing } from '../core/error.js';
import type { Json } from '../core/json.js';
import { endOfText } from '../core/json-size.js';

// More than a shape shows.
const MAX_ENTRIES = 100;
const MAX_DEPTH = 6;
const MAX_VALUES = 5000;

/**
 * Returns a value with the first entries of its arrays and objects; arrays have their full length. Reads the text once,
 * which takes a few hundredths of a second. Returns undefined if its brackets are not balanced.
 */
export function sampleJson(text: string): Json | undefined {
  const reader = { text, at: 0, values: 0 };
  return orNothing(() => {
    const value = readValue(reader, 0);
    skipBlanks(reader);
    return reader.at === text.length ? value : undefined;
  });
}

interface Reader {
  readonly text: string;
  at: number;
  values: number;
}

const SCALAR = /[^\s,\]}]+/y;
const BLANKS = /\s*/y;

function skipBlanks(reader: Reader): string {
  BLANKS.lastIndex = reader.at;
  BLANKS.exec(reader.text);
  reader.at = BLANKS.lastIndex;
  return reader.text.charAt(reader.at);
}

function readValue(reader: Reader, depth: number): Json {
  reader.values++;
  const character = skipBlanks(reader);
  if (character === '[') return readArray(reader, depth);
  if (character === '{') return readObject(reader, depth);
  if (character === '"') {
    reader.at = endOfText(reader.text, reader.at) + 1;
    return '';
  }
  SCALAR.lastIndex = reader.at;
  const [word] = SCALAR.exec(reader.text) ?? [];
  if (word === undefined) throw new SyntaxError('a value is missing');
  reader.at += word.length;
  return word === 'null' ? null : word === 'true' || word === 'false' ? true : 0;
}

function readArray(reader: Reader, depth: number): Json {
  const entries: Json[] = [];
  const more = readEntries(reader, ']', depth, () => entries.push(readValue(reader, depth + 1)));
  entries.length += more;
  return entries;
}

function readObject(reader: Reader, depth: number): Json {
  const entries: [string, Json][] = [];
  readEntries(reader, '}', depth, () => {
    if (skipBlanks(reader) !== '"') throw new SyntaxError('a key is missing');
    const end = endOfText(reader.text, reader.at) + 1;
    const key = JSON.parse(reader.text.slice(reader.at, end)) as string;
    reader.at = end;
    if (skipBlanks(reader) !== ':') throw new SyntaxError('a colon is missing');
    reader.at++;
    entries.push([key, readValue(reader, depth + 1)]);
  });
  return Object.fromEntries(entries);
}

// Reads the first entries of an array or object; returns how many there are besides.
function readEntries(reader: Reader, close: string, depth: number, readEntry: () => void): number {
  reader.at++;
  for (let entries = 0; ; entries++) {
    if (entries === 0 && skipBlanks(reader) === close) break;
    if (entries >= MAX_ENTRIES || depth >= MAX_DEPTH || reader.values >= MAX_VALUES) return 1 + skipRest(reader);
    readEntry();
    const character = skipBlanks(reader);
    if (character === close) break;
    if (character !== ',') throw new SyntaxError('a comma is missing');
    reader.at++;
  }
  reader.at++;
  return 0;
}

// Goes behind the end of the array or object that it is in; returns how many commas were left in it.
function skipRest(reader: Reader): number {
  const { text } = reader;
  let commas = 0;
  let depth = 0;
  for (let at = reader.at; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfText(text, at);
        break;
      case 0x5b:
      case 0x7b:
        depth++;
        break;
      case 0x5d:
      case 0x7d:
        if (depth-- > 0) break;
        reader.at = at + 1;
        return commas;
      case 0x2c:
        if (depth === 0) commas++;
    }
  }
  throw new SyntaxError('it does not end');
}
