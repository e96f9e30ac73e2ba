// Kinds of values and the markers that represent what JSON lacks.

export type Kinds = ReturnType<typeof createKinds>;

export function createKinds() {
  // A value that JSON leaves out of objects.
  const DROPPED = Symbol('dropped');
  // Stops getters and proxies that create children endlessly.
  const MAX_DEPTH = 1_000_000;
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

  function typeOf(value: unknown): string {
    return Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  }

  /** Returns the key of a marker, or undefined for other objects. */
  function markerOf(value: object): string | undefined {
    const keys = Object.keys(value);
    if (keys.length !== 1 || !isMarkerKey(keys[0]!)) return undefined;
    return typeOf((value as Record<string, unknown>)[keys[0]!]) === MARKERS[keys[0]!] ? keys[0] : undefined;
  }

  function isMarkerKey(key: string): boolean {
    return Object.hasOwn(MARKERS, key);
  }

  function isPlain(value: object): boolean {
    const prototype: unknown = Object.getPrototypeOf(value);
    return prototype === null || prototype === Object.prototype || prototype === Array.prototype;
  }

  /** Whether a call returns; recognizes built-in classes of other realms by their methods. */
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
    if (isPlain(value)) return 'object';
    const tag = Object.prototype.toString.call(value);
    if (succeeds(() => Date.prototype.getTime.call(value))) return 'date';
    if (succeeds(() => Map.prototype.has.call(value, 0))) return 'map';
    if (succeeds(() => Set.prototype.has.call(value, 0))) return 'set';
    if (value instanceof Error || tag === '[object Error]') return 'error';
    if (value instanceof Promise || tag === '[object Promise]') return 'promise';
    return 'object';
  }

  return { DROPPED, MAX_DEPTH, bytesOf, markerOf, isMarkerKey, succeeds, kindOf };
}
