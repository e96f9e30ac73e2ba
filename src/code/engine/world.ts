// The world of a program, as JavaScript that the engine runs before it: `tools`, handles, `console`, random numbers.

/**
 * Gets the functions of the host and the seed; returns the functions that the host calls. The program runs in the same
 * realm and can change what it sees, so this decides nothing: names, limits and permissions are checked by the parent.
 */
export const WORLD = `((call, log, end, seed) => {
  'use strict';
  const { stringify, parse } = JSON;
  const { create, defineProperty, freeze } = Object;
  const { then } = Promise.prototype;
  const { apply } = Reflect;
  const waiting = create(null);
  let calls = 0;

  class ToolError extends Error {
    constructor({ code, message, hint, data, tool }, call) {
      super(message);
      this.name = 'ToolError';
      this.code = code;
      this.hint = hint;
      this.data = data;
      this.tool = tool;
      defineProperty(this, 'call', { value: call });
    }
  }
  const request = (kind, name, input) => new Promise((resolve, reject) => {
    const text = stringify(input);
    if (text === undefined) throw new TypeError('the input of tools.' + name + ' must be JSON');
    const id = ++calls;
    waiting[id] = { resolve, reject };
    call(String(id), kind, String(name), text);
  });
  const toHandle = (handle) => freeze({
    ...handle,
    json: () => request('json', handle.id, {}),
    page: (page = 1) => request('page', handle.id, { page }),
    query: (query) => request('query', handle.id, { query: String(query) }),
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
      return stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const print = (...values) => log(values.map(show).join(' '));
  const define = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define('tools', tools);
  define('console', { log: print, info: print, warn: print, error: print, debug: print });

  let state = seed | 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };

  const succeed = (value) => {
    const text = stringify(value);
    end(text === undefined ? '{}' : '{"value":' + text + '}');
  };
  const fail = (error) => {
    const isObject = typeof error === 'object' && error !== null;
    const { name, message, stack, call } = isObject ? error : { name: 'Error', message: show(error) };
    const shown = { name: show(name ?? 'Error'), message: show(message ?? error), stack: show(stack ?? '') };
    end(stringify({ error: typeof call === 'number' ? { ...shown, call } : shown }));
  };
  return freeze({
    start: (main) => {
      apply(then, apply(then, main(), [succeed]), [undefined, fail]);
    },
    settle: (text) => {
      const { id, outcome: { value, handle, error } } = parse(text);
      const { resolve, reject } = waiting[id];
      delete waiting[id];
      if (error !== undefined) reject(new ToolError(error, id));
      else resolve(handle === undefined ? value : toHandle(handle));
    },
  });
})`;
