// Turns a value into a leaf of the copy, or opens a frame for a container.

import type { Frame, Frames } from './frames.js';
import type { Kinds } from './kinds.js';

/** How values that JSON lacks are written: as markers that can be parsed, as text, or as text without functions. */
export type Style = 'markers' | 'text' | 'context';

export type Openers = ReturnType<typeof createOpeners>;

export function createOpeners({ DROPPED, isMarkerKey, kindOf }: Kinds, frames: Frames) {
  const { openList, openObject, openPairs } = frames;

  function copyLeaf(value: unknown, style: Style): unknown {
    const marked = style === 'markers';
    switch (typeof value) {
      case 'number':
        return Number.isFinite(value) ? value + 0 : null;
      case 'bigint':
        return marked ? { $bigint: String(value) } : String(value);
      case 'function':
        if (style === 'context') return DROPPED;
        return marked
          ? { $fn: Function.prototype.toString.call(value) }
          : `[Function: ${String(value.name) || 'anonymous'}]`;
      case 'undefined':
      case 'symbol':
        return DROPPED;
      default:
        return value;
    }
  }

  /** Returns the copy of a value that has no children, or a container with its kind. */
  function simplify(
    given: unknown,
    key: string,
    style: Style,
  ): { readonly leaf: unknown } | { readonly value: object; readonly kind: string } {
    if (typeof given !== 'object' || given === null) return { leaf: copyLeaf(given, style) };
    const marked = style === 'markers';
    let value: unknown = given;
    let kind = kindOf(given);
    const toJson: unknown = kind === 'object' || kind === 'array' ? (given as { toJSON?: unknown }).toJSON : undefined;
    if (typeof toJson === 'function') {
      value = toJson.call(given, key);
      if (typeof value !== 'object' || value === null) return { leaf: copyLeaf(value, style) };
      kind = kindOf(value);
    }
    if (value instanceof Number || value instanceof String || value instanceof Boolean)
      return { leaf: copyLeaf(value.valueOf(), style) };
    if (kind === 'date') {
      const time = Date.prototype.getTime.call(value);
      const text = Number.isNaN(time) ? null : new Date(time).toISOString();
      return { leaf: marked ? { $date: text ?? 'invalid' } : text };
    }
    if (kind === 'promise') return { leaf: marked ? { $promise: true } : '[Promise]' };
    return { value: value as object, kind };
  }

  function openFrame(value: object, kind: string, marked: boolean): Frame {
    if (kind === 'array') return openList(value, value as unknown[], (list) => list);
    if (kind === 'set') {
      const items = [...Set.prototype.values.call(value)];
      return openList(value, items, (list) => (marked ? { $set: list } : list));
    }
    if (kind === 'map') {
      const map = value as Map<unknown, unknown>;
      const keys = [...Map.prototype.keys.call(map)];
      if (marked || !keys.every((key) => typeof key === 'string'))
        return openPairs(map, map, (list) => (marked ? { $map: list } : list));
      const frame = openObject(map, keys as string[], (object) => object);
      return { ...frame, read: (index) => Map.prototype.get.call(map, keys[index]) };
    }
    if (kind !== 'error') return openObject(value, Object.keys(value));
    const own = ['cause', 'errors'].filter((key) => Object.hasOwn(value, key));
    const keys = new Set(['name', 'message', ...own, ...Object.keys(value)]);
    return openObject(value, [...keys], (object) => (marked ? { $error: object } : object));
  }

  function hasMarkerKey(frame: Frame): boolean {
    for (let index = 0; index < frame.count; index++) if (isMarkerKey(frame.key(index))) return true;
    return false;
  }

  return { simplify, openFrame, hasMarkerKey };
}
