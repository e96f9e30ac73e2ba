// What both directions of the serializer share: kinds of values, and frames that walk containers without recursion.

/** A container that is being copied. */
export interface Frame {
  readonly owner: object;
  readonly count: number;
  /** The copy; its children arrive by `put`. */
  readonly result: unknown;
  /** Whether the copy is an object of data, which could be taken for a marker. */
  readonly data: boolean;
  key(index: number): string;
  /** The bytes that an entry takes besides its value. */
  cost(index: number): number;
  read(index: number): unknown;
  put(index: number, value: unknown): void;
  /** Says in the copy that entries are missing; a map says nothing, since only pairs are in it. */
  cut(marker: unknown): void;
  index: number;
}

export type Frames = ReturnType<typeof createFrames>;

/** The parts of this folder are carried as text into other isolates, so each refers to its parameters alone (HLP-4). */
export function createFrames() {
  // What JSON leaves out of objects.
  const DROPPED = Symbol('dropped');
  // Only code that makes up its children while it is read goes on for ever.
  const DEEPEST = 1_000_000;
  // The markers: an object with one of these keys alone, and a value of this kind.
  const SHAPES: Readonly<Record<string, string>> = {
    $fn: 'string',
    $date: 'string',
    $bigint: 'string',
    $map: 'array',
    $set: 'array',
    $error: 'object',
    $plain: 'object',
    $cycle: 'number',
    $promise: 'boolean',
    $truncated: 'boolean',
  };

  // JSON allows the key `__proto__`, and assigning it would set the prototype.
  function define(target: object, key: string, value: unknown): void {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  }

  function bytesOf(text: string): number {
    let bytes = 0;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
    }
    return bytes;
  }

  function shapeOf(value: unknown): string {
    return Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  }

  // The key of an object that is a marker.
  function markerOf(value: object): string | undefined {
    const keys = Object.keys(value);
    if (keys.length !== 1 || !Object.hasOwn(SHAPES, keys[0]!)) return undefined;
    return shapeOf((value as Record<string, unknown>)[keys[0]!]) === SHAPES[keys[0]!] ? keys[0] : undefined;
  }

  function isMarkerKey(key: string): boolean {
    return Object.hasOwn(SHAPES, key);
  }

  function isPlain(value: object): boolean {
    const prototype: unknown = Object.getPrototypeOf(value);
    return prototype === null || prototype === Object.prototype || prototype === Array.prototype;
  }

  // Whether a value is what a method of a built-in class works on, whichever realm it comes from.
  function has(method: () => unknown): boolean {
    try {
      method();
      return true;
    } catch {
      return false;
    }
  }

  function kindOf(value: object): string {
    if (Array.isArray(value)) return 'array';
    if (isPlain(value)) return 'object';
    const tag = Object.prototype.toString.call(value);
    if (has(() => Date.prototype.getTime.call(value))) return 'date';
    if (has(() => Map.prototype.has.call(value, 0))) return 'map';
    if (has(() => Set.prototype.has.call(value, 0))) return 'set';
    if (value instanceof Error || tag === '[object Error]') return 'error';
    if (value instanceof Promise || tag === '[object Promise]') return 'promise';
    return 'object';
  }

  function openList(owner: object, items: readonly unknown[], wrap: (list: unknown[]) => unknown): Frame {
    const list: unknown[] = [];
    const put = (_index: number, value: unknown) => void list.push(value === DROPPED ? null : value);
    const read = (index: number) => items[index];
    const cut = (marker: unknown) => void list.push(marker);
    return {
      owner,
      count: items.length,
      result: wrap(list),
      data: false,
      key: String,
      cost: () => 1,
      read,
      put,
      cut,
      index: 0,
    };
  }

  function openPairs(owner: object, map: Map<unknown, unknown>, wrap: (list: unknown[]) => unknown): Frame {
    const flat = [...Map.prototype.entries.call(map)].flat(1);
    const list: unknown[] = [];
    let key: unknown;
    const put = (index: number, value: unknown) => {
      const kept = value === DROPPED ? null : value;
      if (index % 2 === 0) key = kept;
      else list.push([key, kept]);
    };
    const read = (index: number) => flat[index];
    const cut = () => {};
    return {
      owner,
      count: flat.length,
      result: wrap(list),
      data: false,
      key: String,
      cost: () => 3,
      read,
      put,
      cut,
      index: 0,
    };
  }

  function openObject(owner: object, keys: readonly string[], wrap?: (object: object) => unknown): Frame {
    const object = {};
    const source = owner as Record<string, unknown>;
    const cost = (index: number) => bytesOf(JSON.stringify(keys[index])) + 2;
    const put = (index: number, value: unknown) => {
      if (value !== DROPPED) define(object, keys[index]!, value);
    };
    const read = (index: number) => source[keys[index]!];
    const key = (index: number) => keys[index]!;
    const cut = () => define(object, '$truncated', true);
    const result = wrap === undefined ? object : wrap(object);
    const data = wrap === undefined;
    return { owner, count: keys.length, result, data, key, cost, read, put, cut, index: 0 };
  }

  return {
    DEEPEST,
    DROPPED,
    bytesOf,
    has,
    isMarkerKey,
    kindOf,
    markerOf,
    openList,
    openObject,
    openPairs,
  };
}
