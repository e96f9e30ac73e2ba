// The world of a program, as JavaScript that the engine runs before it: `tools`, handles, `console`, random numbers.

/**
 * Gets the functions of the host and the seed; returns the functions that the host calls. The program runs in the same
 * realm and can change what it sees, so this decides nothing: names, limits and permissions are checked by the parent.
 */
export const WORLD = `((call, log, end, seed) => {
  'use strict';
  const { stringify, parse } = JSON;
  const { create, defineProperty, freeze, fromEntries } = Object;
  const { then } = Promise.prototype;
  const { apply } = Reflect;
  const { Map, Set, Error, Promise: Future, TypeError } = globalThis;
  const { isArray } = Array;
  const waiting = create(null);
  let calls = 0;

  // Without it these would be empty objects, and a BigInt an error.
  const toJson = (_, value) => {
    if (typeof value === 'bigint') return String(value);
    if (value instanceof Set) return [...value];
    if (value instanceof Error) return { name: value.name, message: value.message, ...value };
    if (!(value instanceof Map)) return value;
    return [...value.keys()].every((key) => typeof key === 'string') ? fromEntries(value) : [...value];
  };
  // Marks the functions of handles, which are left out.
  const ofHandle = Symbol();
  // What would be an empty object, or missing.
  const describeLost = (value) => {
    if (value instanceof Future) return 'a promise: await it, or several with Promise.all';
    const isLost = typeof value === 'symbol' || (typeof value === 'function' && !value[ofHandle]);
    return isLost ? 'a ' + typeof value : undefined;
  };
  const pathOf = ({ holder, key, up }) => {
    if (up === undefined) return key;
    const path = pathOf(up);
    return isArray(up.holder) ? path + '[' + key + ']' : path === '' ? key : path + '.' + key;
  };
  const isInside = (value, inside) => {
    for (let one = inside; one !== undefined; one = one.up) if (one.origin === value) return true;
    return false;
  };
  const toText = (value, what) => {
    // The innermost object that is being written.
    let inside;
    const text = stringify(value, function (key, value) {
      while (inside !== undefined && inside.holder !== this) inside = inside.up;
      const isCycle = typeof value === 'object' && value !== null && isInside(value, inside);
      const lost = isCycle ? 'a circular reference' : describeLost(value);
      const plain = lost === undefined ? toJson(key, value) : value;
      const here = { holder: plain, origin: value, key, up: inside };
      if (lost !== undefined)
        throw new TypeError(what + ' must be JSON, ' + (inside ? 'and ' + pathOf(here) + ' is ' : 'not ') + lost);
      if (typeof plain === 'object' && plain !== null) inside = here;
      return plain;
    });
    if (text === undefined && value !== undefined) throw new TypeError(what + ' must be JSON, not a ' + typeof value);
    return text;
  };
  class ToolError extends Error {
    constructor({ code, message, hint, data, tool, output }, { id, stack }) {
      super(message);
      defineProperty(this, 'name', { value: 'ToolError' });
      this.code = code;
      this.hint = hint;
      this.data = data;
      this.tool = tool;
      this.output = output;
      defineProperty(this, 'stack', { value: stack });
      defineProperty(this, 'call', { value: id });
    }
  }
  const request = (kind, name, input) => new Promise((resolve, reject) => {
    const text = toText(input, 'the input of tools.' + String(name));
    const id = ++calls;
    // Where the program made the call.
    waiting[id] = { resolve, reject, stack: new Error().stack };
    call(String(id), kind, String(name), text);
  });
  const reading = (read) => defineProperty(read, ofHandle, { value: true });
  const toHandle = (handle) => freeze({
    ...handle,
    json: reading(() => request('json', handle.id, {})),
    page: reading((page = 1) => request('page', handle.id, { page })),
    query: reading((query) => request('query', handle.id, { query: String(query) })),
  });
  const search = (query, limit) => request('search', '$search', { query: String(query), limit });
  const tools = new Proxy(freeze(create(null)), {
    get: (_, name) => {
      if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined;
      return name === '$search' ? search : (input = {}) => request('call', name, input);
    },
  });
  const show = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return String(value);
    try {
      return stringify(value, toJson) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const print = (...values) => log(values.map(show).join(' '));
  const define = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define('tools', tools);
  const printing = ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace', 'group'];
  const silent = ['groupEnd', 'time', 'timeEnd', 'timeLog', 'count', 'countReset', 'assert', 'clear'];
  define('console', fromEntries([...printing.map((name) => [name, print]), ...silent.map((name) => [name, () => {}])]));

  let state = seed | 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };

  const succeed = (value) => {
    const text = toText(value, 'the value of return');
    end(text === undefined ? '{}' : '{"value":' + text + '}');
  };
  const toShown = (error) => {
    const isObject = typeof error === 'object' && error !== null;
    const { name, message, stack, call } = isObject ? error : { name: 'Error', message: show(error) };
    const shown = { name: show(name ?? 'Error'), message: show(message ?? error), stack: show(stack ?? '') };
    return typeof call === 'number' ? { ...shown, call } : shown;
  };
  const fail = (error) => {
    let shown = { name: 'Error', message: 'it threw something that cannot be read', stack: '' };
    try {
      shown = toShown(error);
    } catch {}
    end(stringify({ error: shown }));
  };
  return freeze({
    start: (main) => {
      apply(then, apply(then, main(), [succeed]), [undefined, fail]);
    },
    settle: (text) => {
      const { id, outcome: { value, json, handle, error } } = parse(text);
      const { resolve, reject, stack } = waiting[id];
      delete waiting[id];
      if (error !== undefined) reject(new ToolError(error, { id, stack }));
      else resolve(handle !== undefined ? toHandle(handle) : json === undefined ? value : parse(json));
    },
  });
})`;
