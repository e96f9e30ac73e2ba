// JSON-safe values back to rich ones.

import type { Frame, Frames } from './frames.js';

export interface DeserializeOptions {
  /** Revives functions, which runs their source text: only for text that you would run anyway. */
  readonly functions?: boolean;
}

/** Refers to its parameter alone, as `createFrames` says. */
export function createReviver(frames: Frames) {
  const { DEEPEST, markerOf, openList, openObject } = frames;

  function reviveFunction(source: string): unknown {
    const evaluate = (code: string): unknown => new Function(`"use strict"; return (${code}\n)`)();
    let revived: unknown;
    try {
      revived = evaluate(source);
    } catch {
      // A method is no expression by itself.
      try {
        const holder = evaluate(`{${source}\n}`) as object;
        const member = Object.getOwnPropertyDescriptor(holder, Reflect.ownKeys(holder)[0]!);
        revived = member?.value ?? member?.get ?? member?.set;
      } catch {
        return undefined;
      }
    }
    return typeof revived === 'function' ? revived : undefined;
  }

  function reviveError(facts: Record<string, unknown>): Error {
    const classes = [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError];
    const Class = classes.find((candidate) => candidate.name === facts.name) ?? Error;
    const error = new Class(String(facts.message));
    if (error.name !== facts.name) {
      Object.defineProperty(error, 'name', { value: facts.name, configurable: true, writable: true });
    }
    return error;
  }

  function openRevived(node: object, open: readonly Frame[], functions: boolean): Frame | { leaf: unknown } {
    const same = (value: object): Frame => openObject(value, Object.keys(value));
    if (Array.isArray(node)) return openList(node, node, (list) => list);
    const marker = markerOf(node);
    if (marker === undefined) return same(node);
    const content = (node as Record<string, unknown>)[marker];
    if (marker === '$plain') return same(content as object);
    if (marker === '$fn') {
      const leaf = functions ? reviveFunction(content as string) : undefined;
      return leaf === undefined ? same(node) : { leaf };
    }
    if (marker === '$date') {
      const date = new Date(content as string);
      return content === 'invalid' || !Number.isNaN(date.getTime()) ? { leaf: date } : same(node);
    }
    if (marker === '$bigint') {
      return /^-?\d+$/.test(content as string) ? { leaf: BigInt(content as string) } : same(node);
    }
    if (marker === '$cycle') {
      const target = open[open.length - (content as number)];
      return target === undefined ? same(node) : { leaf: target.result };
    }
    if (marker === '$set') {
      const set = new Set<unknown>();
      const frame = openList(node, content as unknown[], () => set);
      return { ...frame, put: (_index, value) => void set.add(value) };
    }
    if (marker === '$map') {
      const pairs = content as unknown[];
      if (!pairs.every((pair) => Array.isArray(pair) && pair.length === 2)) return same(node);
      const map = new Map<unknown, unknown>();
      let key: unknown;
      const put = (index: number, value: unknown) => {
        if (index % 2 === 0) key = value;
        else map.set(key, value);
      };
      return { ...openList(node, pairs.flat(1), () => map), put };
    }
    if (marker === '$error') {
      const facts = content as Record<string, unknown>;
      if (typeof facts.name !== 'string' || typeof facts.message !== 'string') return same(node);
      const error = reviveError(facts);
      const keys = Object.keys(facts).filter((key) => key !== 'name' && key !== 'message' && key !== 'stack');
      const frame = openObject(facts, keys, () => error);
      const put = (index: number, value: unknown) => {
        const enumerable = keys[index] !== 'cause' && keys[index] !== 'errors';
        Object.defineProperty(error, keys[index]!, { value, enumerable, configurable: true, writable: true });
      };
      return { ...frame, put };
    }
    return same(node);
  }

  function deserialize(root: unknown, options: DeserializeOptions = {}): unknown {
    const open: Frame[] = [];
    const visit = (node: unknown): unknown => {
      if (typeof node !== 'object' || node === null || open.length >= DEEPEST) return node;
      const opened = openRevived(node, open, options.functions === true);
      if ('leaf' in opened) return opened.leaf;
      open.push(opened);
      return opened.result;
    };
    const result = visit(root);
    while (open.length > 0) {
      const frame = open[open.length - 1]!;
      const index = frame.index++;
      if (index < frame.count) frame.put(index, visit(frame.read(index)));
      else open.pop();
    }
    return result;
  }

  return { deserialize };
}
