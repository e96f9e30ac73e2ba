// Restores the values that markers represent.

import type { Frame, Frames } from './frames.js';
import type { Kinds } from './kinds.js';

export interface DeserializeOptions {
  /** Revives functions by evaluating their source text; only for text from a trusted source. */
  readonly functions?: boolean;
}

/** Restores the content of a marker; undefined if the content is not valid. */
type MarkerReader = (
  content: unknown,
  open: readonly Frame[],
  functions: boolean,
) => Frame | { readonly leaf: unknown } | undefined;

export type MarkerReaders = Readonly<Record<string, MarkerReader>>;

export function createMarkerReaders({ openList, openObject }: Frames): MarkerReaders {
  function reviveFunction(source: string): unknown {
    const evaluate = (code: string): unknown => new Function(`"use strict"; return (${code}\n)`)();
    let revived: unknown;
    try {
      revived = evaluate(source);
    } catch {
      // A method is not an expression by itself.
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

  function createError(name: string, message: string): Error {
    const classes = [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError];
    const Class = classes.find((candidate) => candidate.name === name) ?? Error;
    const error = new Class(message);
    if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
    return error;
  }

  const orNothing = (leaf: unknown) => (leaf === undefined ? undefined : { leaf });

  return {
    $plain: (content) => openObject(content as object, Object.keys(content as object)),
    $fn: (content, _open, functions) => (functions ? orNothing(reviveFunction(content as string)) : undefined),
    $date(content) {
      const leaf = new Date(content as string);
      return content === 'invalid' || !Number.isNaN(leaf.getTime()) ? { leaf } : undefined;
    },
    $bigint: (content) => (/^-?\d+$/.test(content as string) ? { leaf: BigInt(content as string) } : undefined),
    $cycle: (content, open) => orNothing(open[open.length - (content as number)]?.result),
    $set(content) {
      const set = new Set<unknown>();
      const items = content as unknown[];
      return { ...openList(items, items, () => set), put: (_index, value) => void set.add(value) };
    },
    $map(content) {
      const pairs = content as unknown[];
      if (!pairs.every((pair) => Array.isArray(pair) && pair.length === 2)) return undefined;
      const map = new Map<unknown, unknown>();
      let key: unknown;
      const put = (index: number, value: unknown): void => {
        if (index % 2 === 0) key = value;
        else map.set(key, value);
      };
      return { ...openList(pairs, pairs.flat(1), () => map), put };
    },
    $error(content) {
      const fields = content as Record<string, unknown>;
      if (typeof fields.name !== 'string' || typeof fields.message !== 'string') return undefined;
      const error = createError(fields.name, fields.message);
      const keys = Object.keys(fields).filter((key) => !['name', 'message', 'stack'].includes(key));
      const put = (index: number, value: unknown): void => {
        const enumerable = keys[index] !== 'cause' && keys[index] !== 'errors';
        Object.defineProperty(error, keys[index]!, { value, enumerable, configurable: true, writable: true });
      };
      return { ...openObject(fields, keys, () => error), put };
    },
  };
}

export function createReviver(kinds: Kinds, frames: Frames, readers: MarkerReaders) {
  const { MAX_DEPTH, markerOf } = kinds;
  const { openList, openObject } = frames;

  return function deserialize(root: unknown, options: DeserializeOptions = {}): unknown {
    const open: Frame[] = [];
    const openNode = (node: object): Frame | { readonly leaf: unknown } => {
      if (Array.isArray(node)) return openList(node, node, (list) => list);
      const marker = markerOf(node);
      const content = marker && (node as Record<string, unknown>)[marker];
      const revived = marker && readers[marker]?.(content, open, options.functions === true);
      return revived || openObject(node, Object.keys(node));
    };
    const visit = (node: unknown): unknown => {
      if (typeof node !== 'object' || node === null || open.length >= MAX_DEPTH) return node;
      const opened = openNode(node);
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
  };
}
