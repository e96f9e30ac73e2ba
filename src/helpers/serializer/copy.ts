// Rich values to JSON-safe ones, within bounds; and the JSON text of them, however deep.

import type { Frame, Frames } from './frames.js';

export interface SerializeOptions {
  /** How many levels of containers are kept; what is deeper is `{ "$truncated": true }`. */
  readonly maxDepth?: number;
  /** How many bytes of JSON the outcome may have, 64 at least. */
  readonly maxBytes?: number;
}

/** How what JSON lacks is written: as markers that can be read back, as text, or as text without functions. */
export type Style = 'markers' | 'text' | 'context';

/** Refers to its parameter alone, as `createFrames` says. */
export function createCopier(frames: Frames) {
  const { DEEPEST, DROPPED, bytesOf, has, isMarkerKey, kindOf, markerOf } = frames;
  const { openList, openObject, openPairs } = frames;
  // Room for the one marker that says where it ended.
  const RESERVE = 40;
  const OPENED = Symbol('opened');

  function openFrame(value: object, kind: string, marked: boolean): Frame {
    if (kind === 'array') return openList(value, value as unknown[], (list) => list);
    if (kind === 'set') {
      const items = [...Set.prototype.values.call(value)];
      return openList(value, items, (list) => (marked ? { $set: list } : list));
    }
    if (kind === 'map') {
      const map = value as Map<unknown, unknown>;
      const keys = [...Map.prototype.keys.call(map)];
      if (marked || !keys.every((key) => typeof key === 'string')) {
        return openPairs(map, map, (list) => (marked ? { $map: list } : list));
      }
      const frame = openObject(map, keys as string[], (object) => object);
      return { ...frame, read: (index) => Map.prototype.get.call(map, keys[index]) };
    }
    if (kind === 'error') {
      const own = ['cause', 'errors'].filter((key) => Object.hasOwn(value, key));
      const keys = new Set(['name', 'message', ...own, ...Object.keys(value)]);
      return openObject(value, [...keys], (object) => (marked ? { $error: object } : object));
    }
    return openObject(value, Object.keys(value));
  }

  function hasMarkerKey(frame: Frame): boolean {
    for (let index = 0; index < frame.count; index++) if (isMarkerKey(frame.key(index))) return true;
    return false;
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

  function copy(root: unknown, style: Style, options: SerializeOptions = {}): unknown {
    const marked = style === 'markers';
    const deepest = Math.min(options.maxDepth ?? DEEPEST, DEEPEST);
    let room = options.maxBytes === undefined ? Number.POSITIVE_INFINITY : options.maxBytes - RESERVE;
    let full = false;
    const open: Frame[] = [];
    const levels = new Map<object, number>();

    const cut = (text: string): string => {
      let kept = text.slice(0, Math.max(0, room));
      while (kept !== '' && bytesOf(JSON.stringify(kept)) > room) {
        kept = kept.slice(0, Math.floor(kept.length * 0.9));
      }
      return `${kept.replace(/[\ud800-\udbff]$/, '')}…`;
    };
    const pay = (value: unknown): unknown => {
      if (room === Number.POSITIVE_INFINITY || value === DROPPED) return value;
      const bytes = bytesOf(JSON.stringify(value));
      if (bytes <= room) {
        room -= bytes;
        return value;
      }
      full = true;
      if (marked) return { $truncated: true };
      return typeof value === 'string' && room > 16 ? cut(value) : '[Truncated]';
    };
    const truncate = (array: boolean): unknown =>
      marked ? { $truncated: true } : array ? '[Array]' : '[Object]';

    // A leaf is answered; a container is opened and answered by its frame's result.
    const visit = (given: unknown, key: string): unknown => {
      let value = given;
      if (typeof value === 'object' && value !== null) {
        let kind = kindOf(value);
        const toJson: unknown =
          kind === 'object' || kind === 'array' ? (value as { toJSON?: unknown }).toJSON : undefined;
        if (typeof toJson === 'function') {
          value = toJson.call(value, key);
          if (typeof value !== 'object' || value === null) return pay(copyLeaf(value, style));
          kind = kindOf(value);
        }
        if (value instanceof Number || value instanceof String || value instanceof Boolean) {
          return pay(copyLeaf(value.valueOf(), style));
        }
        if (kind === 'date') {
          const time = Date.prototype.getTime.call(value);
          const text = Number.isNaN(time) ? null : new Date(time).toISOString();
          return pay(marked ? { $date: text ?? 'invalid' } : text);
        }
        if (kind === 'promise') return pay(marked ? { $promise: true } : '[Promise]');
        const level = levels.get(value as object);
        if (level !== undefined) return pay(marked ? { $cycle: open.length - level } : '[Circular]');
        if (open.length >= deepest) return pay(truncate(kind === 'array'));
        const frame = openFrame(value as object, kind, marked);
        if (room !== Number.POSITIVE_INFINITY) {
          const shell = pay(marked && frame.data && hasMarkerKey(frame) ? { $plain: {} } : frame.result);
          if (full) return shell;
        }
        levels.set(frame.owner, open.length);
        open.push(frame);
        return OPENED;
      }
      return pay(copyLeaf(value, style));
    };
    const visitSafely = (read: () => unknown, key: string): unknown => {
      try {
        return visit(read(), key);
      } catch (error) {
        // A getter, a toJSON or a proxy that throws.
        const message = has(() => String((error as Error).message)) ? String((error as Error).message) : '';
        return pay(marked ? { $error: { name: 'Error', message } } : `[Unreadable: ${message}]`);
      }
    };

    let result: unknown;
    // Data that came out as a marker would come back as what the marker stands for.
    const close = (frame: Frame): void => {
      open.pop();
      levels.delete(frame.owner);
      const escaped = marked && frame.data && markerOf(frame.result as object) !== undefined;
      const done = escaped ? { $plain: frame.result } : frame.result;
      const parent = open[open.length - 1];
      if (parent === undefined) result = done;
      else parent.put(parent.index - 1, done);
    };

    result = visitSafely(() => root, '');
    while (open.length > 0) {
      const frame = open[open.length - 1]!;
      const index = frame.index++;
      const cost = index < frame.count && room !== Number.POSITIVE_INFINITY ? frame.cost(index) : 0;
      if (cost > room && !full) {
        full = true;
        frame.cut(marked ? { $truncated: true } : '[Truncated]');
      }
      if (full || index >= frame.count) {
        close(frame);
        continue;
      }
      room -= cost;
      const child = visitSafely(() => frame.read(index), frame.key(index));
      if (child !== OPENED) frame.put(index, child);
    }
    return result === DROPPED ? null : result;
  }

  // JSON.stringify recurses, and gives up a few thousand levels down.
  function write(value: unknown, indent?: number): string {
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

  return { copy, write };
}
