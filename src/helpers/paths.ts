// Reading, writing and removing values by path expressions: `a.b[0]` or JSONPath (HLP-1).

import { ToolError } from '../core/error.js';
import { describeValue } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import { type Path, parsePath, queryPaths, type Step } from './path-expression.js';

type Container = Record<Step, unknown>;

// Steps that lead to what all objects share.
const SHARED = new Set<Step>(['__proto__', 'prototype', 'constructor']);
// How far past its end an array may grow by one write.
const GROWTH = 10_000;

/** Whether a key is one of the system's rather than the user's: it begins with `$`. */
export function isMetaKey(key: string): key is `$${string}` {
  return key.startsWith('$');
}

/** The value at a path, the first one of a query, or undefined. Only what the objects themselves hold is seen. */
export function pathGet(value: unknown, expression: string): unknown {
  const [path] = findPaths(value, expression);
  return path === undefined ? undefined : read(value, path);
}

/** All values that an expression leads to. */
export function pathQuery(value: unknown, expression: string): unknown[] {
  return findPaths(value, expression).map((path) => read(value, path));
}

/**
 * Writes a value in place. What is missing on the way is made: an array before `[0]`, an object before a name. A
 * query that may lead to several places writes to each that exists.
 */
export function pathSet(value: unknown, expression: string, replacement: unknown): void {
  const single = parsePath(expression);
  for (const path of single === undefined ? queryPaths(value, expression) : [single]) {
    if (path.length === 0) throw wholeValue(expression);
    // Looked at before anything is made, so that a refused write leaves nothing behind.
    for (const step of path) refuseShared(step, expression);
    write(value, path, replacement, expression);
  }
}

/** Removes every match in place; from arrays the element is taken out, and those after it move up. */
export function pathRemove(value: unknown, expression: string): void {
  const paths = findPaths(value, expression);
  if (paths.some((path) => path.length === 0)) throw wholeValue(expression);
  for (const path of paths) for (const step of path) refuseShared(step, expression);
  // From the last to the first, so that no removal moves another's place.
  const ordered = [...paths].sort((a, b) => compare(value, b, a));
  for (const path of ordered) {
    const last = path[path.length - 1]!;
    const parent = read(value, path.slice(0, -1));
    const key = keyIn(parent, last);
    if (key === undefined) continue;
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete (parent as Container)[key];
  }
}

/** The names at the top of an object below which expressions find something. */
export function pathKeys(
  value: Readonly<Record<string, unknown>>,
  expressions: readonly string[],
): Set<string> {
  const keys = new Set<string>();
  for (const expression of expressions) {
    for (const [first] of findPaths(value, expression)) {
      if (first !== undefined) keys.add(String(first));
      else for (const key of Object.keys(value)) keys.add(key);
    }
  }
  return keys;
}

// The paths that lead somewhere, each once.
function findPaths(value: unknown, expression: string): Path[] {
  const single = parsePath(expression);
  if (single !== undefined) return exists(value, single) ? [single] : [];
  const unique = new Map(queryPaths(value, expression).map((path) => [JSON.stringify(path), path]));
  return [...unique.values()];
}

// The key of a step in a container that holds it; of an array, its elements are seen and nothing else.
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
      const where = at === 0 ? 'the value' : `what stands before "${quoteOutside(String(step))}"`;
      throw new ToolError('invalid_input', `${where} is ${describeValue(node)} and can hold nothing`, {
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
    throw new ToolError('invalid_input', `[${step}] is a place in an array, and an object stands there`, {
      hint: `write ["${step}"] for the key in ${quoteOutside(expression)}`,
    });
  }
  const index = typeof step === 'number' || /^\d+$/.test(step) ? Number(step) : -1;
  if (index < 0 || index > container.length + GROWTH) {
    throw new ToolError('invalid_input', `an array has no place "${quoteOutside(String(step))}"`, {
      hint: `use a number up to ${GROWTH} past its end in ${quoteOutside(expression)}`,
    });
  }
  while (container.length < index) container.push(null);
  return index;
}

// By place in the value: a container before what it holds, an element before the next.
function compare(value: unknown, a: Path, b: Path): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    if (a[at] === b[at]) continue;
    const container = read(value, a.slice(0, at));
    if (!Array.isArray(container)) return String(a[at]) < String(b[at]) ? -1 : 1;
    return Number(a[at]) - Number(b[at]);
  }
  return a.length - b.length;
}

function refuseShared(step: Step, expression: string): void {
  if (!SHARED.has(step)) return;
  throw new ToolError('invalid_input', `"${step}" cannot be written by a path`, {
    hint: `use another name in ${quoteOutside(expression)}: this one reaches what all objects share`,
  });
}

function wholeValue(expression: string): ToolError {
  return new ToolError('invalid_input', `"${quoteOutside(expression)}" is the whole value`, {
    hint: 'name a place within it, as in $.name',
  });
}
