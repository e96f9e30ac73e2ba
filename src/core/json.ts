// JSON values: types, a strict parser with limits, canonical text.

import { isToolError, ToolError } from './error.js';
import { endOfText, isLargeJson, MOST_READ, MOST_READ_TEXT, measureJson } from './json-size.js';
import { findSyntaxFault, positionOf, type SyntaxFault } from './json-syntax.js';
import type { Finding } from './problem.js';
import { formatBytes, quoteOutside } from './text.js';

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

export interface JsonBounds {
  readonly maxDepth: number;
  readonly maxBytes: number;
  /** Whether the value may have no more than is read as one value (TOOL-24). */
  readonly isReadAtOnce?: boolean;
  /** Whether text with a whole number that reading would change is refused (RUN-15). */
  readonly isExact?: boolean;
}

/** Limits of an input: 64 levels, 10 MiB, 100,000 values of which 25,000 are properties. */
export const INPUT_BOUNDS: JsonBounds = {
  maxDepth: 64,
  maxBytes: 10 * 1024 * 1024,
  isReadAtOnce: true,
  isExact: true,
};

/** Limits of a document that others wrote. */
export const DOCUMENT_BOUNDS: JsonBounds = { ...INPUT_BOUNDS, isExact: false };

const { POSITIVE_INFINITY: ANY } = Number;
const ANY_SIZE = { values: ANY, properties: ANY, depth: ANY };

// Levels have a limit of their own.
const MOST_OF_INPUT = { ...MOST_READ, depth: ANY };

/** Whether a value is an object, not null and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Copies a value that is plain JSON within limits and without a `__proto__` key at any depth (RUN-5). Undefined
 * properties are left out. A copy, so that the value cannot change after it was validated.
 * Throws `invalid_input` or `too_large`; the message has the path of the first fault.
 */
export function toJson(value: unknown, bounds: JsonBounds = INPUT_BOUNDS): Json {
  return checkJson(value, bounds, true).json;
}

// Returns the value, or a copy, and how many properties it has at all depths. What was parsed here need not be copied.
function checkJson(value: unknown, bounds: JsonBounds, isCopied: boolean): { json: Json; properties: number } {
  let bytes = 0;
  let values = 0;
  let properties = 0;
  const path: (string | number)[] = [];
  const fault = (problem: string, hint: string, got = problem.replace(/^is /, '')): ToolError => {
    const pointer = toPointer(path);
    const where = pointer === '' || pointer.length > 200 ? '' : ` at ${quoteOutside(pointer)}`;
    return new ToolError('invalid_input', `input${where} ${problem}`, {
      hint,
      data: { faults: [{ kind: 'value', path: where === '' ? '' : pointer, expected: 'a JSON value', got }] },
    });
  };
  const walkInto = (step: string | number, child: unknown): Json => {
    path.push(step);
    const copy = walk(child);
    path.pop();
    return copy;
  };
  const walk = (node: unknown): Json => {
    if (path.length > bounds.maxDepth) {
      throw fault(`is nested deeper than ${bounds.maxDepth} levels`, FLATTEN);
    }
    bytes += typeof node === 'string' ? node.length + 2 : 5;
    if (bytes > bounds.maxBytes) throw inputTooLarge(bounds);
    if (bounds.isReadAtOnce && (++values > MOST_READ.values || properties > MOST_READ.properties))
      throw tooManyValues();
    if (node === null || typeof node === 'string' || typeof node === 'boolean') return node;
    if (typeof node === 'number') {
      if (!Number.isFinite(node)) throw fault(`is ${node}`, 'JSON has no such number; leave it out or send a string');
      return node;
    }
    if (Array.isArray(node)) {
      if (isCopied) return Array.from(node, (child, index) => walkInto(index, child));
      for (const [index, child] of node.entries()) walkInto(index, child);
      return node;
    }
    if (!isPlainObject(node)) {
      const what =
        typeof node === 'object' ? 'not a plain object' : node === undefined ? 'undefined' : `a ${typeof node}`;
      throw fault(`is ${what}`, PLAIN_JSON);
    }
    const json = (isCopied ? {} : node) as Record<string, Json>;
    for (const key of Object.keys(node)) {
      properties++;
      if (key === '__proto__')
        throw fault('has the key "__proto__"', 'rename the key', 'an object with the key "__proto__"');
      bytes += key.length + 4;
      const child = node[key];
      if (child !== undefined) json[key] = walkInto(key, child);
    }
    return json;
  };
  try {
    return { json: walk(value), properties };
  } catch (error) {
    // Thrown by a getter or a proxy.
    throw error instanceof ToolError ? error : fault('cannot be read', PLAIN_JSON, 'a value that cannot be read');
  }
}

const FLATTEN = 'flatten it, or pass it as a string of JSON';

const PLAIN_JSON = 'send plain JSON: objects, arrays, text, numbers, true, false, null';

function isPlainObject(node: unknown): node is Record<string, unknown> {
  if (typeof node !== 'object' || node === null) return false;
  const prototype: unknown = Object.getPrototypeOf(node);
  return prototype === Object.prototype || prototype === null;
}

function tooDeep(what: string, { maxDepth }: JsonBounds): ToolError {
  return new ToolError('invalid_input', `${what} is nested deeper than ${maxDepth} levels`, { hint: FLATTEN });
}

function tooManyValues(): ToolError {
  return new ToolError('too_large', `input has more than ${MOST_READ_TEXT}`, {
    hint: 'write it to a file and pass the path instead, or pass a string of JSON',
    data: { limitValues: MOST_READ.values, limitProperties: MOST_READ.properties },
  });
}

function inputTooLarge(bounds: JsonBounds): ToolError {
  return new ToolError('too_large', `input is larger than ${formatBytes(bounds.maxBytes)}`, {
    hint: 'write it to a file and pass the path instead',
    data: { limitBytes: bounds.maxBytes },
  });
}

/**
 * Parses JSON text strictly: duplicate keys and values that are too deep or too large are rejected too.
 * `what` names the text in messages ("--input").
 */
export function parseJson(text: string, what: string, bounds: JsonBounds = INPUT_BOUNDS): Json {
  if (text.length > bounds.maxBytes) throw inputTooLarge(bounds);
  const size = measureJson(text, bounds.isReadAtOnce ? MOST_OF_INPUT : ANY_SIZE);
  if (size === undefined) {
    const isDeep = isLargeJson(text, { ...ANY_SIZE, depth: bounds.maxDepth });
    throw isDeep ? tooDeep(what, bounds) : tooManyValues();
  }
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    const { line, column, problem } = findSyntaxFault(text);
    throw new ToolError('invalid_input', `${what} is not valid JSON: line ${line}, column ${column}: ${problem}`, {
      hint: `check quotes and commas; keys and strings need double quotes: '{"name":"Ada"}'`,
      data: { fault: 'syntax', line, column, problem },
    });
  }
  if (bounds.isExact) assertExact(text, what);
  // A key that an object has twice is counted twice in the text, and once in the value.
  const { json, properties } = checkJson(value, bounds, false);
  if (properties === size.properties) return json;
  const { key, offset } = findDuplicateKey(text)!;
  const { line, column } = positionOf(text, offset);
  const shown = quoteOutside(key);
  throw new ToolError('invalid_input', `${what} has the key "${shown}" twice in one object (line ${line})`, {
    hint: 'keep one of them; JSON parsers disagree on which one wins',
    data: { fault: 'duplicate', line, column, problem: `the key "${shown}" twice in one object` },
  });
}

const WHOLE = /^-?\d{16,}$/;

/** Returns the number of a text; undefined if a double cannot represent it: too large, or a whole number that would change. */
export function toExactNumber(text: string): number | undefined {
  const number = Number(text);
  return Number.isFinite(number) && (!WHOLE.test(text) || String(number) === text) ? number : undefined;
}

/** Refuses JSON text with a whole number that reading it would change, such as an id of 64 bits. */
export function assertExact(text: string, what: string): void {
  if (!/\d{16}/.test(text)) return;
  const token = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '"') token.lastIndex = endOfText(text, match.index) + 1;
    else if (toExactNumber(match[0]) === undefined) throw inexactNumber(what, match[0]);
  }
}

/** The error for a number that would be changed. */
export function inexactNumber(what: string, literal: string): ToolError {
  const problem = `the number ${quoteOutside(literal, 40)}, beyond 2^53, which would be changed; pass it as text`;
  return new ToolError('invalid_input', `${what} has ${problem}`, {
    hint: 'put it in quotes, if the tool takes text',
    data: { fault: 'inexact', problem },
  });
}

/** Splits an error of `parseJson` into the place and a message without it, for a file whose place is shown beside it. */
export function toJsonFault(error: unknown): Pick<Finding, 'line' | 'column' | 'message'> {
  if (!isToolError(error)) throw error;
  const { fault, line, column, problem } = (error.data ?? {}) as Partial<Record<string, string>> & SyntaxFault;
  if (problem === undefined) return { message: error.message };
  return { line, column, message: fault === 'syntax' ? `is not valid JSON: ${problem}` : `has ${problem}` };
}

/** Like `JSON.parse`, with line and column in the message of its error on every engine. */
export function parseWithPosition(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const { line, column, problem } = findSyntaxFault(text);
    throw new SyntaxError(`line ${line}, column ${column}: ${problem}`);
  }
}

/** Counts the properties of a value at all depths: fewer than in its text if an object there has a key twice. */
export function countProperties(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children: readonly Json[] = Object.values(value);
  const own = Array.isArray(value) ? 0 : children.length;
  return children.reduce((sum: number, child) => sum + countProperties(child), own);
}

/** Finds a key that an object of valid JSON text has twice. */
export function findDuplicateKey(text: string): { readonly key: string; readonly offset: number } | undefined {
  const token = /["{}]/g;
  const open: Set<string>[] = [];
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '{') open.push(new Set());
    else if (match[0] === '}') open.pop();
    else {
      // No regular expression spans a string: a long one would overflow the engine's stack.
      const end = endOfText(text, match.index) + 1;
      token.lastIndex = end;
      if (!isBeforeColon(text, end)) continue;
      const key = JSON.parse(text.slice(match.index, end)) as string;
      const keys = open[open.length - 1]!;
      if (keys.has(key)) return { key, offset: match.index };
      keys.add(key);
    }
  }
  return undefined;
}

function isBeforeColon(text: string, from: number): boolean {
  let at = from;
  while (' \t\r\n'.includes(text.charAt(at)) && at < text.length) at++;
  return text[at] === ':';
}

/** Whether the text of a JSON value is longer than a limit; visits no more of it than that. */
export function isLonger(value: unknown, limit: number): boolean {
  const left: unknown[] = [value];
  let length = 0;
  // Without recursion: the value may be nested very deeply.
  while (left.length > 0) {
    const node = left.pop();
    length += typeof node === 'string' ? node.length + 3 : 2;
    if (length > limit) return true;
    if (typeof node !== 'object' || node === null) continue;
    if (Array.isArray(node)) {
      if (length + 2 * node.length > limit) return true;
      for (const child of node) left.push(child);
      continue;
    }
    for (const key in node) {
      length += key.length + 3;
      if (length > limit) return true;
      left.push((node as Record<string, unknown>)[key]);
    }
  }
  return false;
}

/** Escapes a key for a JSON Pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return /[~/]/.test(key) ? key.replace(/~/g, '~0').replace(/\//g, '~1') : key;
}

/** Returns the key that `escapePointer` escaped. */
export function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Formats keys and indices, from the whole value to a part of it, as JSON Pointer. */
export function toPointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${escapePointer(String(step))}`).join('');
}

/** Returns an object with the same keys and changed values. */
export function mapValues<A, B>(
  record: Readonly<Record<string, A>>,
  change: (value: A, key: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

/** Returns the same text for equal values, regardless of the order of keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, node: unknown) => {
    if (!isRecord(node)) return node;
    return Object.fromEntries(
      Object.keys(node)
        .sort()
        .map((key) => [key, node[key]]),
    );
  });
}

/** Returns a text as it is, and any other value as JSON. */
export function showValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
}

/** Describes a value briefly: `text "abc"`, `an array`, `null`. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'string':
      return `text ${JSON.stringify(quoteOutside(value, 40))}`;
    case 'number':
      return `the number ${value}`;
    case 'boolean':
      return String(value);
    default:
      return 'an object';
  }
}

/** Returns a deep copy that is not frozen. */
export function copyJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(value)) copy[key] = copyJson((value as JsonObject)[key]!);
  return copy;
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    if (Array.isArray(value)) for (const child of value) deepFreeze(child);
    else for (const key of Object.keys(value)) deepFreeze((value as Record<string, unknown>)[key]);
  }
  return value;
}

/** Parses the output of a tool; undefined if it is not JSON, or too large to be read as one value. */
export function parseOutput(text: string): Json | undefined {
  if (isLargeJson(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
