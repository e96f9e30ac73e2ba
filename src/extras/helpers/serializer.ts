// The serializer: copies any value into JSON-safe values, and restores it.

export interface SerializeOptions {
  /** Maximum number of nested containers; deeper ones become `{ "$truncated": true }`. 200 by default, and at most. */
  readonly maxDepth?: number;
  /** Maximum size of the result in bytes of JSON, at least 64. */
  readonly maxBytes?: number;
}

export interface DeserializeOptions {
  /** Revives functions by evaluating their source text; only for text from a trusted source. */
  readonly functions?: boolean;
}

/** How values that JSON lacks are written: as markers that can be parsed, as text, or as text without functions. */
type Style = 'markers' | 'text' | 'context';

/** One function that refers to nothing outside, so that its source text works elsewhere (HLP-4). */
export function createSerializer() {
  const MAX_DEPTH = 200;
  // Reserved for the marker that shows where the copy ends.
  const RESERVE = 40;
  // A value that JSON leaves out of objects.
  const DROPPED = Symbol('dropped');
  // A marker is an object with exactly one of these keys and a value of this type.
  const MARKERS: Readonly<Record<string, string>> = {
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

  function bytesOf(text: string): number {
    let bytes = 0;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
    }
    return bytes;
  }

  // Undefined for an object that is not a marker.
  function markerOf(value: object): string | undefined {
    const [key, ...others] = Object.keys(value);
    if (key === undefined || others.length > 0 || !Object.hasOwn(MARKERS, key)) return undefined;
    const content = (value as Record<string, unknown>)[key];
    const type = Array.isArray(content) ? 'array' : content === null ? 'null' : typeof content;
    return type === MARKERS[key] ? key : undefined;
  }

  // Whether a call returns; recognizes built-in classes of other realms by their methods.
  function succeeds(call: () => unknown): boolean {
    try {
      call();
      return true;
    } catch {
      return false;
    }
  }

  function kindOf(value: object): string {
    if (Array.isArray(value)) return 'array';
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null || prototype === Object.prototype || prototype === Array.prototype) return 'object';
    const tag = Object.prototype.toString.call(value);
    if (succeeds(() => Date.prototype.getTime.call(value))) return 'date';
    if (succeeds(() => Map.prototype.has.call(value, 0))) return 'map';
    if (succeeds(() => Set.prototype.has.call(value, 0))) return 'set';
    if (value instanceof Error || tag === '[object Error]') return 'error';
    if (value instanceof Promise || tag === '[object Promise]') return 'promise';
    return 'object';
  }

  // JSON allows the key `__proto__`; assigning it would set the prototype.
  function define(target: object, key: string, value: unknown, enumerable = true): void {
    Object.defineProperty(target, key, { value, enumerable, configurable: true, writable: true });
  }

  function cutText(text: string, left: number): string {
    let start = text.slice(0, Math.max(0, left));
    while (start !== '' && bytesOf(JSON.stringify(start)) > left)
      start = start.slice(0, Math.floor(start.length * 0.9));
    return `${start.replace(/[\ud800-\udbff]$/, '')}…`;
  }

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

  function copyDate(value: unknown, marked: boolean): unknown {
    const time = Date.prototype.getTime.call(value);
    const text = Number.isNaN(time) ? null : new Date(time).toISOString();
    return marked ? { $date: text ?? 'invalid' } : text;
  }

  function copy(root: unknown, style: Style, options: SerializeOptions = {}): unknown {
    const marked = style === 'markers';
    const isLimited = options.maxBytes !== undefined;
    const maxDepth = Math.min(options.maxDepth ?? MAX_DEPTH, MAX_DEPTH);
    // The containers that are being copied, with their depth.
    const levels = new Map<object, number>();
    let left = (options.maxBytes ?? 0) - RESERVE;
    // Set when something did not fit; nothing is added afterwards.
    let isFull = false;

    // Returns a value if it fits, otherwise a marker in its place.
    function spend(value: unknown): unknown {
      if (!isLimited || value === DROPPED) return value;
      const bytes = bytesOf(JSON.stringify(value));
      if (bytes <= left) {
        left -= bytes;
        return value;
      }
      isFull = true;
      if (marked) return { $truncated: true };
      return typeof value === 'string' && left > 16 ? cutText(value, left) : '[Truncated]';
    }

    // Whether another entry fits; if not, `cut` notes that entries are missing.
    function fits(cost: () => number, cut: () => void): boolean {
      if (!isLimited || isFull) return !isFull;
      left -= cost();
      if (left >= 0) return true;
      isFull = true;
      cut();
      return false;
    }

    function visit(read: () => unknown, key: string): unknown {
      try {
        return copyValue(read(), key);
      } catch (error) {
        // A getter, toJSON or proxy threw.
        const text = (): string => String((error as Error).message);
        const message = succeeds(text) ? text() : '';
        return spend(marked ? { $error: { name: 'Error', message } } : `[Unreadable: ${message}]`);
      }
    }

    function copyValue(given: unknown, key: string): unknown {
      if (typeof given !== 'object' || given === null) return spend(copyLeaf(given, style));
      let value: unknown = given;
      let kind = kindOf(given);
      const isData = kind === 'object' || kind === 'array';
      const toJson: unknown = isData ? (given as { toJSON?: unknown }).toJSON : undefined;
      if (typeof toJson === 'function') {
        value = toJson.call(given, key);
        if (typeof value !== 'object' || value === null) return spend(copyLeaf(value, style));
        kind = kindOf(value);
      }
      if (value instanceof Number || value instanceof String || value instanceof Boolean)
        return spend(copyLeaf(value.valueOf(), style));
      if (kind === 'date') return spend(copyDate(value, marked));
      if (kind === 'promise') return spend(marked ? { $promise: true } : '[Promise]');
      const level = levels.get(value as object);
      if (level !== undefined) return spend(marked ? { $cycle: levels.size - level } : '[Circular]');
      if (levels.size >= maxDepth)
        return spend(marked ? { $truncated: true } : kind === 'array' ? '[Array]' : '[Object]');
      return copyContainer(value as object, kind);
    }

    function copyContainer(value: object, kind: string): unknown {
      if (kind === 'array') return copyList(value, value as unknown[], []);
      if (kind === 'set') return copyList(value, [...Set.prototype.values.call(value)], [], '$set');
      if (kind === 'map') {
        const entries = [...(Map.prototype.entries.call(value) as Iterable<[unknown, unknown]>)];
        if (marked || !entries.every(([key]) => typeof key === 'string')) return copyPairs(value, entries);
        const map = new Map(entries);
        return copyObject(value, [...map.keys()] as string[], (key) => map.get(key), '');
      }
      const read = (key: string): unknown => (value as Record<string, unknown>)[key];
      if (kind !== 'error') return copyObject(value, Object.keys(value), read);
      const own = ['cause', 'errors'].filter((key) => Object.hasOwn(value, key));
      return copyObject(value, [...new Set(['name', 'message', ...own, ...Object.keys(value)])], read, '$error');
    }

    // Fills a container unless its empty form does not fit.
    function fill(owner: object, empty: unknown, add: () => void): unknown {
      const spent = spend(empty);
      if (isFull) return spent;
      levels.set(owner, levels.size);
      add();
      levels.delete(owner);
      return empty;
    }

    const wrap = (marker: string, content: unknown): unknown =>
      marked && marker !== '' ? { [marker]: content } : content;

    function copyList(owner: object, items: readonly unknown[], list: unknown[], marker = ''): unknown {
      return fill(owner, wrap(marker, list), () => {
        const cut = (): void => void list.push(marked ? { $truncated: true } : '[Truncated]');
        for (let at = 0; at < items.length && fits(() => 1, cut); at++) {
          const item = visit(() => items[at], String(at));
          list.push(item === DROPPED ? null : item);
        }
      });
    }

    // A map cannot contain a note that entries are missing.
    function copyPairs(owner: object, entries: readonly [unknown, unknown][]): unknown {
      const list: unknown[] = [];
      return fill(owner, wrap('$map', list), () => {
        for (const [at, pair] of entries.entries()) {
          const written: unknown[] = [];
          for (const side of pair) {
            if (
              !fits(
                () => 3,
                () => {},
              )
            )
              return;
            const copied = visit(() => side, String(2 * at + written.length));
            written.push(copied === DROPPED ? null : copied);
          }
          list.push(written);
        }
      });
    }

    // Without a marker it is data, which is escaped if it looks like a marker.
    function copyObject(
      owner: object,
      keys: readonly string[],
      read: (key: string) => unknown,
      marker?: string,
    ): unknown {
      const object = {};
      const isData = marked && marker === undefined;
      const mayEscape = isLimited && isData && keys.some((key) => Object.hasOwn(MARKERS, key));
      const empty = mayEscape ? { $plain: object } : wrap(marker ?? '', object);
      const filled = fill(owner, empty, () => {
        for (const key of keys) {
          const cost = (): number => bytesOf(JSON.stringify(key)) + 2;
          if (!fits(cost, () => define(object, '$truncated', true))) return;
          const value = visit(() => read(key), key);
          if (value !== DROPPED) define(object, key, value);
        }
      });
      if (!isData || filled !== empty) return filled;
      return markerOf(object) === undefined ? object : { $plain: object };
    }

    const result = visit(() => root, '');
    return result === DROPPED ? null : result;
  }

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
    if (error.name !== name) define(error, 'name', name, false);
    return error;
  }

  function deserialize(root: unknown, { functions = false }: DeserializeOptions = {}): unknown {
    // What is being restored, outermost first.
    const open: unknown[] = [];

    function fill<T>(result: T, add: () => void): T {
      open.push(result);
      add();
      open.pop();
      return result;
    }

    function reviveObject(fields: object): unknown {
      const object = {};
      return fill(object, () => {
        for (const [key, value] of Object.entries(fields)) define(object, key, revive(value));
      });
    }

    // Undefined if the content is not valid.
    function reviveMarker(marker: string, content: unknown): unknown {
      switch (marker) {
        case '$plain':
          return reviveObject(content as object);
        case '$fn':
          return functions ? reviveFunction(content as string) : undefined;
        case '$date': {
          const date = new Date(content as string);
          return content === 'invalid' || !Number.isNaN(date.getTime()) ? date : undefined;
        }
        case '$bigint':
          return /^-?\d+$/.test(content as string) ? BigInt(content as string) : undefined;
        case '$cycle':
          return open[open.length - (content as number)];
        case '$set': {
          const set = new Set<unknown>();
          return fill(set, () => (content as unknown[]).forEach((item) => void set.add(revive(item))));
        }
        case '$map': {
          const pairs = content as [unknown, unknown][];
          if (!pairs.every((pair) => Array.isArray(pair) && pair.length === 2)) return undefined;
          const map = new Map<unknown, unknown>();
          return fill(map, () => pairs.forEach(([key, value]) => void map.set(revive(key), revive(value))));
        }
        case '$error': {
          const { name, message, stack: _, ...rest } = content as Record<string, unknown>;
          if (typeof name !== 'string' || typeof message !== 'string') return undefined;
          const error = createError(name, message);
          return fill(error, () => {
            for (const [key, value] of Object.entries(rest))
              define(error, key, revive(value), key !== 'cause' && key !== 'errors');
          });
        }
        default:
          return undefined;
      }
    }

    function revive(node: unknown): unknown {
      if (typeof node !== 'object' || node === null || open.length >= MAX_DEPTH) return node;
      if (Array.isArray(node)) {
        const list: unknown[] = [];
        return fill(list, () => node.forEach((item) => void list.push(revive(item))));
      }
      const marker = markerOf(node);
      const revived = marker && reviveMarker(marker, (node as Record<string, unknown>)[marker]);
      return revived === undefined ? reviveObject(node) : revived;
    }

    return revive(root);
  }

  return { copy, deserialize };
}
