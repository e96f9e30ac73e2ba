// The serializer: copies any value into JSON-safe values, and restores it.

/** Options of `serialize`. */
export interface SerializeOptions {
  /** Maximum number of nested containers; deeper ones become `{ "$truncated": true }`. 200 by default, and at most. */
  readonly maxDepth?: number;
  /** Maximum size of the result in bytes of JSON, at least 64. */
  readonly maxBytes?: number;
}

/** Options of `deserialize`. */
export interface DeserializeOptions {
  /** Revives functions by evaluating their source text; only for text from a trusted source. */
  readonly functions?: boolean;
}

/** How values that JSON lacks are written: as markers that can be parsed, as text, or as text without functions. */
type Style = 'markers' | 'text' | 'context';

/** One function that refers to nothing outside, so that its source text works elsewhere (HLP-4). */
export function createSerializer() {
  const MAX_DEPTH = 200;
  // Reserved for the note that shows where the copy ends.
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
  const CONTAINERS = ['array', 'object', 'map', 'set', 'error'];

  // JSON text has no lone surrogates, which could not be encoded.
  function bytesOf(value: unknown): number {
    return encodeURIComponent(JSON.stringify(value)).replace(/%../g, '.').length;
  }

  // Undefined for an object that is not a marker.
  function markerOf(value: object): string | undefined {
    const [key, ...others] = Object.keys(value);
    if (key === undefined || others.length > 0 || !Object.hasOwn(MARKERS, key)) return undefined;
    return kindOf((value as Record<string, unknown>)[key]) === MARKERS[key] ? key : undefined;
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

  // One of the containers, or what `copyLeaf` can copy.
  function kindOf(value: unknown): string {
    if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
    if (Array.isArray(value)) return 'array';
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === null || prototype === Object.prototype || prototype === Array.prototype) return 'object';
    const tag = Object.prototype.toString.call(value);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return 'boxed';
    if (succeeds(() => Date.prototype.getTime.call(value))) return 'date';
    if (succeeds(() => Map.prototype.has.call(value, 0))) return 'map';
    if (succeeds(() => Set.prototype.has.call(value, 0))) return 'set';
    if (value instanceof Error || tag === '[object Error]') return 'error';
    return value instanceof Promise || tag === '[object Promise]' ? 'promise' : 'object';
  }

  // JSON allows the key `__proto__`; assigning it would set the prototype.
  function define(target: object, key: string, value: unknown, enumerable = true): void {
    Object.defineProperty(target, key, { value, enumerable, configurable: true, writable: true });
  }

  function cutText(text: string, left: number): string {
    let start = text.slice(0, Math.max(0, left));
    while (start !== '' && bytesOf(start) > left) start = start.slice(0, Math.floor(start.length * 0.9));
    return `${start.replace(/[\ud800-\udbff]$/, '')}…`;
  }

  function copyLeaf(value: unknown, style: Style): unknown {
    const write = (marker: string, content: unknown, text: unknown): unknown =>
      style === 'markers' ? { [marker]: content } : text;
    switch (kindOf(value)) {
      case 'boxed':
        return copyLeaf((value as object).valueOf(), style);
      case 'number':
        return Number.isFinite(value) ? (value as number) + 0 : null;
      case 'bigint':
        return write('$bigint', String(value), String(value));
      case 'date': {
        const time = Date.prototype.getTime.call(value);
        const text = Number.isNaN(time) ? null : new Date(time).toISOString();
        return write('$date', text ?? 'invalid', text);
      }
      case 'promise':
        return write('$promise', true, '[Promise]');
      case 'function': {
        if (style === 'context') return DROPPED;
        const name = String((value as { readonly name: unknown }).name) || 'anonymous';
        return write('$fn', Function.prototype.toString.call(value), `[Function: ${name}]`);
      }
      case 'undefined':
      case 'symbol':
        return DROPPED;
      default:
        return value;
    }
  }

  function copy(root: unknown, style: Style, options: SerializeOptions = {}): unknown {
    const marked = style === 'markers';
    const maxDepth = Math.min(options.maxDepth ?? MAX_DEPTH, MAX_DEPTH);
    // The containers that are being copied, outermost first.
    const open: unknown[] = [];
    // Negative once something did not fit; nothing is added afterwards.
    let left = (options.maxBytes ?? Number.POSITIVE_INFINITY) - RESERVE;
    const costOf = (value: unknown): number => (left === Number.POSITIVE_INFINITY ? 0 : bytesOf(value));
    const note = (): unknown => (marked ? { $truncated: true } : '[Truncated]');

    // Returns a value if it fits, otherwise a note in its place.
    function spend(value: unknown): unknown {
      if (value === DROPPED) return value;
      const room = left;
      const cost = costOf(value);
      left = cost > room ? -1 : room - cost;
      if (left >= 0) return value;
      return typeof value === 'string' && !marked && room > 16 ? cutText(value, room) : note();
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
      const isData = ['array', 'object'].includes(kindOf(given));
      const toJson: unknown = isData ? (given as { toJSON?: unknown }).toJSON : undefined;
      const value: unknown = typeof toJson === 'function' ? toJson.call(given, key) : given;
      const kind = kindOf(value);
      if (!CONTAINERS.includes(kind)) return spend(copyLeaf(value, style));
      const level = open.indexOf(value);
      if (level !== -1) return spend(marked ? { $cycle: open.length - level } : '[Circular]');
      if (open.length >= maxDepth) return spend(marked ? note() : kind === 'array' ? '[Array]' : '[Object]');
      open.push(value);
      try {
        return copyContainer(value as object, kind);
      } finally {
        open.pop();
      }
    }

    function copyContainer(value: object, kind: string): unknown {
      if (kind === 'array') return copyList(value as unknown[]);
      if (kind === 'set') return copyList([...Set.prototype.values.call(value)], '$set');
      if (kind === 'map') {
        const entries = [...(Map.prototype.entries.call(value) as Iterable<[unknown, unknown]>)];
        if (marked || !entries.every(([key]) => typeof key === 'string')) return copyList(entries, '$map');
        const map = new Map(entries);
        return copyObject([...map.keys()] as string[], (key) => map.get(key), '');
      }
      const read = (key: string): unknown => (value as Record<string, unknown>)[key];
      if (kind !== 'error') return copyObject(Object.keys(value), read);
      const own = ['cause', 'errors'].filter((key) => Object.hasOwn(value, key));
      return copyObject([...new Set(['name', 'message', ...own, ...Object.keys(value)])], read, '$error');
    }

    const wrap = (marker: string, content: unknown): unknown =>
      marked && marker !== '' ? { [marker]: content } : content;

    function copyList(items: readonly unknown[], marker = ''): unknown {
      const list: unknown[] = [];
      const whole = wrap(marker, list);
      const spent = spend(whole);
      if (left < 0) return spent;
      for (let at = 0; at < items.length && left >= 0; at++) {
        left -= 1;
        const item = left < 0 ? note() : visit(() => items[at], String(at));
        list.push(item === DROPPED ? null : item);
      }
      return whole;
    }

    // Without a marker it is data, which is escaped if it looks like a marker.
    function copyObject(keys: readonly string[], read: (key: string) => unknown, marker?: string): unknown {
      const object = {};
      const isData = marked && marker === undefined;
      const mayEscape = isData && keys.some((key) => Object.hasOwn(MARKERS, key));
      const whole = wrap(marker ?? '', object);
      const spent = spend(mayEscape ? { $plain: whole } : whole);
      if (left < 0) return spent;
      for (const key of keys) {
        if (left < 0) break;
        left -= costOf(key) + 2;
        const fits = left >= 0;
        const value = fits ? visit(() => read(key), key) : true;
        if (value !== DROPPED) define(object, fits ? key : '$truncated', value);
      }
      return isData && markerOf(object) !== undefined ? { $plain: object } : whole;
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
          return fill(map, () => pairs.forEach((pair) => void map.set(...(revive(pair) as [unknown, unknown]))));
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
