// Copies any value into JSON-safe values, within limits of depth and size.

import type { Budget, CreateBudget } from './budget.js';
import type { Frame } from './frames.js';
import type { Kinds } from './kinds.js';
import type { Openers, Style } from './open.js';

export interface SerializeOptions {
  /** Maximum number of nested containers; deeper ones become `{ "$truncated": true }`. */
  readonly maxDepth?: number;
  /** Maximum size of the result in bytes of JSON, at least 64. */
  readonly maxBytes?: number;
}

export function createCopier(kinds: Kinds, openers: Openers, createBudget: CreateBudget) {
  const { DROPPED, MAX_DEPTH, succeeds, markerOf } = kinds;
  const { simplify, openFrame, hasMarkerKey } = openers;
  const OPENED = Symbol('opened');

  // Returns the copy of a leaf, or opens a frame and returns `OPENED`.
  const createVisitor = (style: Style, maxDepth: number, budget: Budget, open: Frame[]) => {
    const marked = style === 'markers';
    const levels = new Map<object, number>();
    const visit = (given: unknown, key: string): unknown => {
      const simple = simplify(given, key, style);
      if ('leaf' in simple) return budget.spend(simple.leaf);
      const { value, kind } = simple;
      const level = levels.get(value);
      if (level !== undefined) return budget.spend(marked ? { $cycle: open.length - level } : '[Circular]');
      if (open.length >= maxDepth)
        return budget.spend(marked ? { $truncated: true } : kind === 'array' ? '[Array]' : '[Object]');
      const frame = openFrame(value, kind, marked);
      if (budget.limited) {
        const isEscaped = marked && frame.data && hasMarkerKey(frame);
        const shell = budget.spend(isEscaped ? { $plain: {} } : frame.result);
        if (budget.full) return shell;
      }
      levels.set(frame.owner, open.length);
      open.push(frame);
      return OPENED;
    };
    return {
      levels,
      visit(read: () => unknown, key: string): unknown {
        try {
          return visit(read(), key);
        } catch (error) {
          // A getter, toJSON or proxy threw.
          const text = (): string => String((error as Error).message);
          const message = succeeds(text) ? text() : '';
          return budget.spend(marked ? { $error: { name: 'Error', message } } : `[Unreadable: ${message}]`);
        }
      },
    };
  };

  return function copy(root: unknown, style: Style, options: SerializeOptions = {}): unknown {
    const marked = style === 'markers';
    const budget = createBudget(marked, options.maxBytes);
    const open: Frame[] = [];
    const maxDepth = Math.min(options.maxDepth ?? MAX_DEPTH, MAX_DEPTH);
    const { visit, levels } = createVisitor(style, maxDepth, budget, open);
    let result = visit(() => root, '');
    const close = (frame: Frame): void => {
      open.pop();
      levels.delete(frame.owner);
      // Data that looks like a marker is escaped.
      const isEscaped = marked && frame.data && markerOf(frame.result as object) !== undefined;
      const done = isEscaped ? { $plain: frame.result } : frame.result;
      const parent = open[open.length - 1];
      if (parent === undefined) result = done;
      else parent.put(parent.index - 1, done);
    };
    while (open.length > 0) {
      const frame = open[open.length - 1]!;
      const index = frame.index++;
      const cost = index < frame.count && budget.limited ? frame.cost(index) : 0;
      if (cost > budget.left && !budget.full) {
        budget.full = true;
        frame.cut(marked ? { $truncated: true } : '[Truncated]');
      }
      if (budget.full || index >= frame.count) {
        close(frame);
        continue;
      }
      budget.left -= cost;
      const child = visit(() => frame.read(index), frame.key(index));
      if (child !== OPENED) frame.put(index, child);
    }
    return result === DROPPED ? null : result;
  };
}

/** Like JSON.stringify, for values of any depth: that one recurses and throws RangeError. */
export function writeJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const pieces: string[] = [];
  const waiting: { text?: string; value?: unknown }[] = [{ value }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const node = next.value;
    if (next.text !== undefined) pieces.push(next.text);
    else if (typeof node !== 'object' || node === null) pieces.push(JSON.stringify(node));
    else {
      const array = Array.isArray(node);
      const keys = Object.keys(node);
      waiting.push({ text: array ? ']' : '}' });
      for (let at = keys.length - 1; at >= 0; at--) {
        waiting.push({ value: (node as Record<string, unknown>)[keys[at]!] });
        const comma = at === 0 ? '' : ',';
        waiting.push({ text: array ? comma : `${comma}${JSON.stringify(keys[at])}:` });
      }
      pieces.push(array ? '[' : '{');
    }
  }
  return pieces.join('');
}
