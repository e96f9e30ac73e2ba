// Parses path expressions such as `a.b[0]["c d"]`, and runs JSONPath queries with a library.

import { createRequire } from 'node:module';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';

/** A key or an array index; a negative index counts from the end. */
export type Step = string | number;
export type Path = readonly Step[];

const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const FIRST = /^[^.[\]]+/;
const STEP = /^(?:\.([^.[\]]+)|\[(0|-?[1-9]\d*)\]|\[("(?:[^"\\]|\\.)*")\]|\[('(?:[^'\\]|\\.)*')\])/;

/** Parses an expression for a single location; returns undefined for a query that can match several. */
export function parsePath(expression: string): Path | undefined {
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
export function queryPaths(root: unknown, expression: string): Path[] {
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
