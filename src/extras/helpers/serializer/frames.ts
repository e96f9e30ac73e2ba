// Frames: containers that are being copied. An explicit stack of frames replaces recursion, so that depth is unlimited.

import type { Kinds } from './kinds.js';

export interface Frame {
  readonly owner: object;
  readonly count: number;
  /** The copy; its children are added by `put`. */
  readonly result: unknown;
  /** Whether the copy is an object of data, which could look like a marker. */
  readonly data: boolean;
  key(index: number): string;
  /** Bytes of an entry without its value. */
  cost(index: number): number;
  read(index: number): unknown;
  put(index: number, value: unknown): void;
  /** Adds a note that entries are missing; a map cannot contain one. */
  cut(marker: unknown): void;
  index: number;
}

export type Frames = ReturnType<typeof createFrames>;

export function createFrames({ DROPPED, bytesOf }: Kinds) {
  const listFrame = (owner: object, count: number, result: unknown): Omit<Frame, 'read' | 'put' | 'cut'> => ({
    owner,
    count,
    result,
    data: false,
    key: String,
    cost: () => 1,
    index: 0,
  });

  function openList(owner: object, items: readonly unknown[], wrap: (list: unknown[]) => unknown): Frame {
    const list: unknown[] = [];
    return {
      ...listFrame(owner, items.length, wrap(list)),
      read: (index) => items[index],
      put: (_index, value) => void list.push(value === DROPPED ? null : value),
      cut: (marker) => void list.push(marker),
    };
  }

  function openPairs(owner: object, map: Map<unknown, unknown>, wrap: (list: unknown[]) => unknown): Frame {
    const flat = [...Map.prototype.entries.call(map)].flat(1);
    const list: unknown[] = [];
    let key: unknown;
    return {
      ...listFrame(owner, flat.length, wrap(list)),
      cost: () => 3,
      read: (index) => flat[index],
      put(index, value) {
        const written = value === DROPPED ? null : value;
        if (index % 2 === 0) key = written;
        else list.push([key, written]);
      },
      cut: () => {},
    };
  }

  // JSON allows the key `__proto__`; assigning it would set the prototype.
  function define(target: object, key: string, value: unknown): void {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  }

  function openObject(owner: object, keys: readonly string[], wrap?: (object: object) => unknown): Frame {
    const object = {};
    return {
      owner,
      count: keys.length,
      result: wrap === undefined ? object : wrap(object),
      data: wrap === undefined,
      key: (index) => keys[index]!,
      cost: (index) => bytesOf(JSON.stringify(keys[index])) + 2,
      read: (index) => (owner as Record<string, unknown>)[keys[index]!],
      put(index, value) {
        if (value !== DROPPED) define(object, keys[index]!, value);
      },
      cut: () => define(object, '$truncated', true),
      index: 0,
    };
  }

  return { openList, openPairs, openObject };
}
