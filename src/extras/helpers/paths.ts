// Reads, writes and removes values by path expressions, `a.b[0]` or JSONPath, also of schemas (HLP-1, HLP-5).

import { createRequire } from 'node:module';
import { isToolError, ToolError } from '../../core/error.js';
import { describeValue, isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';

type Container = Record<Step, unknown>;

// Keys that lead to shared prototypes.
const FORBIDDEN = new Set<Step>(['__proto__', 'prototype', 'constructor']);
// How far past its end one write may extend an array.
const MAX_GROWTH = 10_000;

/** Whether a key is reserved for the system: it begins with `$`. */
export function isMetaKey(key: string): key is `$${string}` {
  return key.startsWith('$');
}

/** Returns the value at a path, the first match of a query, or undefined. Only own properties are read. */
export function pathGet(value: unknown, expression: string): unknown {
  const [path] = findPaths(value, expression);
  return path === undefined ? undefined : read(value, path);
}

/** Returns all values that an expression matches. */
export function pathQuery(value: unknown, expression: string): unknown[] {
  return findPaths(value, expression).map((path) => read(value, path));
}

/**
 * Writes a value in place and creates missing containers: an array before `[0]`, an object before a name. A query
 * writes to every match.
 */
export function pathSet(value: unknown, expression: string, replacement: unknown): void {
  const single = parsePath(expression);
  for (const path of single === undefined ? queryPaths(value, expression) : [single]) {
    if (path.length === 0) throw wholeValue(expression);
    // Checked before anything is created, so that a rejected write changes nothing.
    for (const step of path) rejectForbidden(step, expression);
    change(expression, () => write(value, path, replacement, expression));
  }
}

/** Removes every match in place; later elements of an array move up. */
export function pathRemove(value: unknown, expression: string): void {
  const paths = findPaths(value, expression);
  if (paths.some((path) => path.length === 0)) throw wholeValue(expression);
  for (const path of paths) for (const step of path) rejectForbidden(step, expression);
  // From last to first, so that a removal does not shift other matches.
  const ordered = [...paths].sort((a, b) => compare(value, b, a));
  for (const path of ordered) {
    const last = path[path.length - 1]!;
    const parent = read(value, path.slice(0, -1));
    const key = keyIn(parent, last);
    if (key === undefined) continue;
    change(expression, () => {
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete (parent as Container)[key];
    });
  }
}

// Frozen values, and setters of the program, throw their own errors.
function change(expression: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (isToolError(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ToolError('invalid_input', `${quoteOutside(expression)} cannot be changed: ${reason}`, {
      hint: 'change a copy of the value, such as structuredClone(value)',
      cause: error,
    });
  }
}

/** Returns the top-level keys under which expressions match something. */
export function pathKeys(value: Readonly<Record<string, unknown>>, expressions: readonly string[]): Set<string> {
  const keys = new Set<string>();
  for (const expression of expressions) {
    for (const [first] of findPaths(value, expression)) {
      if (first !== undefined) keys.add(String(first));
      else for (const key of Object.keys(value)) keys.add(key);
    }
  }
  return keys;
}

// Returns the paths that exist, without duplicates.
function findPaths(value: unknown, expression: string): Path[] {
  const single = parsePath(expression);
  if (single !== undefined) return exists(value, single) ? [single] : [];
  const unique = new Map(queryPaths(value, expression).map((path) => [JSON.stringify(path), path]));
  return [...unique.values()];
}

// Returns the key of a step in its container, or undefined; of an array only elements are accessible.
function keyIn(container: unknown, step: Step): Step | undefined {
  if (typeof container !== 'object' || container === null) return undefined;
  if (!Array.isArray(container)) {
    return typeof step === 'string' && Object.hasOwn(container, step) ? step : undefined;
  }
  if (typeof step === 'string' && !/^(?:0|[1-9]\d*)$/.test(step)) return undefined;
  const index = Number(step) < 0 ? container.length + Number(step) : Number(step);
  return index >= 0 && index < container.length ? index : undefined;
}

function exists(value: unknown, path: Path): boolean {
  const last = path[path.length - 1];
  return last === undefined || keyIn(read(value, path.slice(0, -1)), last) !== undefined;
}

function read(value: unknown, path: Path): unknown {
  let node = value;
  for (const step of path) {
    const key = keyIn(node, step);
    if (key === undefined) return undefined;
    node = (node as Container)[key];
  }
  return node;
}

function write(value: unknown, path: Path, replacement: unknown, expression: string): void {
  let node = value;
  path.forEach((step, at) => {
    if (typeof node !== 'object' || node === null) {
      const where = at === 0 ? 'the value' : `the parent of "${quoteOutside(String(step))}"`;
      throw new ToolError('invalid_input', `${where} is ${describeValue(node)}, not an object or array`, {
        hint: `check the path ${quoteOutside(expression)}, or set an object there first`,
      });
    }
    const key = keyIn(node, step) ?? newKey(node, step, expression);
    const container = node as Container;
    if (at === path.length - 1) container[key] = replacement;
    else {
      const child = Object.hasOwn(container, key) ? container[key] : undefined;
      if (child === undefined || child === null) container[key] = typeof path[at + 1] === 'number' ? [] : {};
      node = container[key];
    }
  });
}

function newKey(container: object, step: Step, expression: string): Step {
  if (!Array.isArray(container)) {
    if (typeof step === 'string') return step;
    throw new ToolError('invalid_input', `[${step}] is an array index, but the value is an object`, {
      hint: `write ["${step}"] for the key in ${quoteOutside(expression)}`,
    });
  }
  const index = typeof step === 'number' || /^\d+$/.test(step) ? Number(step) : -1;
  if (index < 0 || index > container.length + MAX_GROWTH) {
    throw new ToolError('invalid_input', `"${quoteOutside(String(step))}" is not a valid array index`, {
      hint: `use an index up to ${MAX_GROWTH} past its end in ${quoteOutside(expression)}`,
    });
  }
  while (container.length < index) container.push(null);
  return index;
}

// Orders paths by position: a container before its children, an element before the next.
function compare(value: unknown, a: Path, b: Path): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    if (a[at] === b[at]) continue;
    const container = read(value, a.slice(0, at));
    if (!Array.isArray(container)) return String(a[at]) < String(b[at]) ? -1 : 1;
    return Number(a[at]) - Number(b[at]);
  }
  return a.length - b.length;
}

function rejectForbidden(step: Step, expression: string): void {
  if (!FORBIDDEN.has(step)) return;
  throw new ToolError('invalid_input', `"${step}" cannot be written`, {
    hint: `use another key in ${quoteOutside(expression)}; this one would change a shared prototype`,
  });
}

function wholeValue(expression: string): ToolError {
  return new ToolError('invalid_input', `"${quoteOutside(expression)}" refers to the whole value`, {
    hint: 'refer to a part of it, such as $.name',
  });
}

/** A key or an array index; a negative index counts from the end. */
type Step = string | number;
type Path = readonly Step[];

const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const FIRST = /^[^.[\]]+/;
const STEP = /^(?:\.([^.[\]]+)|\[(0|-?[1-9]\d*)\]|\[("(?:[^"\\]|\\.)*")\]|\[('(?:[^'\\]|\\.)*')\])/;

/** Parses an expression for a single location; returns undefined for a query that can match several. */
function parsePath(expression: string): Path | undefined {
  const query = isQuery(expression);
  const first = query ? undefined : FIRST.exec(expression)?.[0];
  const steps: Step[] = first === undefined ? [] : [first];
  let rest = expression.slice(query ? 1 : (first?.length ?? 0));
  while (rest !== '') {
    const match = STEP.exec(rest);
    // In JSONPath a name after a dot has letters and digits only; anything else is left to the library.
    if (match === null || (query && match[1] !== undefined && !/^[\p{L}_][\p{L}\p{N}_]*$/u.test(match[1]))) {
      if (query) return undefined;
      throw badPath(expression, expression.length - rest.length);
    }
    const step = stepOf(match, expression);
    // In JSONPath a quoted number is a key, not an index.
    if (query && typeof step === 'string' && /^\d+$/.test(step)) return undefined;
    steps.push(step);
    rest = rest.slice(match[0].length);
  }
  if (steps.length === 0 && !query) throw badPath(expression, 0);
  return steps;
}

function stepOf(match: RegExpExecArray, expression: string): Step {
  const [, name, index, double, single] = match;
  if (name !== undefined) return name;
  if (index !== undefined) return Number(index);
  const quoted =
    double ??
    `"${single!
      .slice(1, -1)
      .replace(/\\'/g, "'")
      .replace(/(?<!\\)"/g, '\\"')}"`;
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw badPath(expression, expression.indexOf(match[0]));
  }
}

/** Whether an expression is JSONPath: `$` alone, or followed by a dot or a bracket. `$name` is a key. */
function isQuery(expression: string): boolean {
  return /^\$(?:$|[.[\s])/.test(expression);
}

function badPath(expression: string, at: number): ToolError {
  return new ToolError('invalid_input', `"${quoteOutside(expression)}" is not a valid path (column ${at + 1})`, {
    hint: 'write a.b[0]["c d"], or a JSONPath query such as $.items[*].name',
    data: { column: at + 1 },
  });
}

/** Returns the paths of all matches of a JSONPath query. */
function queryPaths(root: unknown, expression: string): Path[] {
  rejectCycles(root);
  // Loaded lazily, because it is large.
  const library = createRequire(import.meta.url)('jsonpath-rfc9535') as typeof import('jsonpath-rfc9535');
  const found: Path[] = [];
  try {
    library.exec(root as Parameters<typeof library.exec>[0], expression, (_value, path) => {
      found.push(path.map(unescapeStep));
    });
  } catch (error) {
    throw new ToolError(
      'invalid_input',
      `"${quoteOutside(expression)}" is not a JSONPath query: ${quoteOutside((error as Error).message)}`,
      { hint: 'use the syntax of RFC 9535, such as $.items[?@.price < 10].name', cause: error },
    );
  }
  return found;
}

// The library returns keys escaped as in a normalized path.
function unescapeStep(step: Step): Step {
  if (typeof step === 'number' || !step.includes('\\')) return step;
  return step.replace(/\\(?:u([0-9a-f]{4})|(.))/g, (_match, code: string | undefined, letter: string) =>
    code === undefined ? (CONTROLS[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

// A descending query would not terminate.
function rejectCycles(root: unknown): void {
  const above = new Set<unknown>();
  const done = new Set<unknown>();
  const waiting: { node: unknown; leave: boolean }[] = [{ node: root, leave: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, leave } = next;
    if (leave) {
      above.delete(node);
      done.add(node);
    } else if (typeof node === 'object' && node !== null && !done.has(node)) {
      if (above.has(node)) {
        const hint = 'query a copy: safeClone(value) has no cycles';
        throw new ToolError('invalid_input', 'a value with cycles cannot be queried', { hint });
      }
      above.add(node);
      waiting.push({ node, leave: true });
      for (const child of Object.values(node)) waiting.push({ node: child, leave: false });
    }
  }
}

/** Returns the object at the path in `$resolve`, or the schema itself if there is none. */
export function resolveJsonSchema(schema: JsonSchema, context: unknown): JsonSchema;
export function resolveJsonSchema(schema: JsonSchema | undefined, context: unknown): JsonSchema | undefined;
export function resolveJsonSchema(schema: JsonSchema | undefined, context: unknown): JsonSchema | undefined {
  if (typeof schema?.$resolve !== 'string') return schema;
  try {
    const found = pathGet(context, schema.$resolve);
    return isRecord(found) ? (found as JsonSchema) : schema;
  } catch (error) {
    if (isToolError(error)) return schema;
    throw error;
  }
}
