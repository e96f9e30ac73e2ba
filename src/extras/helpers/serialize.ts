// Serialization of any value, as JSON that can be parsed back or as a copy for logs; never throws because of a value.

import { ToolError } from '../../core/error.js';
import { createSerializer, type DeserializeOptions, type SerializeOptions } from './serializer.js';

/** Options of `stringify`. */
export interface StringifyOptions extends SerializeOptions {
  /** Number of spaces per level. */
  readonly indent?: number;
}

const serializer = createSerializer();

/**
 * Returns a JSON-safe copy of any value: what JSON lacks becomes a marker (`{ "$map": … }`, `{ "$fn": … }`). Data that
 * looks like a marker is wrapped in `{ "$plain": … }`, so that it stays data.
 */
export function serialize(value: unknown, options: SerializeOptions = {}): unknown {
  return serializer.copy(value, 'markers', options);
}

/** Returns the value that `serialize` was given; functions stay markers unless `functions` is true. */
export function deserialize(value: unknown, options: DeserializeOptions = {}): unknown {
  return serializer.deserialize(value, options);
}

/** Returns the JSON text of `serialize(value)`; for plain values the same as JSON.stringify. */
export function stringify(value: unknown, options: StringifyOptions = {}): string {
  return JSON.stringify(serialize(value, options), null, options.indent);
}

/** Parses text written by `stringify`; for plain values the same as JSON.parse, including syntax errors. */
export function parse(text: string, options: DeserializeOptions = {}): unknown {
  return deserialize(JSON.parse(text), options);
}

/** Like `deserialize`, but evaluates functions; only for values from a trusted source. */
export function reviveFns(value: unknown): unknown {
  return deserialize(value, { functions: true });
}

/** Like JSON.stringify, for values with functions, promises, cycles, bigints and up to 200 levels. */
export function safeStringify(value: unknown, indent?: number): string {
  return JSON.stringify(serializer.copy(value, 'text'), null, indent);
}

/** Returns a plain JSON copy, by default 64 levels deep, and limited to `maxBytes` of JSON if given. */
export function safeClone(value: unknown, options: SerializeOptions = {}): unknown {
  return serializer.copy(value, 'text', { maxDepth: 64, ...options });
}

/** Returns a small copy for events and diagnostics. */
export function safeSnapshot(value: unknown, maxDepth = 4, maxBytes = 10 * 1024): unknown {
  return serializer.copy(value, 'text', { maxDepth, maxBytes });
}

/** Copies a context for logs: without functions, with `"[Circular]"` for cycles; null if it is not an object. */
export function serializeContext(context: unknown, maxDepth = 6): Record<string, unknown> | null {
  if (typeof context !== 'object' || context === null) return null;
  const copied = serializer.copy(context, 'context', { maxDepth });
  return typeof copied === 'object' ? (copied as Record<string, unknown>) : null;
}

/** Names of the functions in the isolate; by default their own. */
export interface TransferableNames {
  /** The name for `stringify`. */
  readonly stringify?: string;
  /** The name for `parse`. */
  readonly parse?: string;
  /** The name for `reviveFns`. */
  readonly reviveFns?: string;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** Returns a classic script that declares `stringify`, `parse` and `reviveFns`, with the behaviour of this module's. */
export function transferableSerializerSource(names: TransferableNames = {}): string {
  const { stringify = 'stringify', parse = 'parse', reviveFns = 'reviveFns' } = names;
  for (const name of [stringify, parse, reviveFns]) {
    if (!IDENTIFIER.test(name)) {
      throw new ToolError('invalid_input', `"${name}" is not a valid function name`, {
        hint: 'use letters, digits, _ and $, not starting with a digit',
      });
    }
  }
  // Wrapped in a function, so that the script declares three names only.
  const machinery = `(function () {
const { copy, deserialize } = (${createSerializer})();
return {
  stringify: (value, options = {}) => JSON.stringify(copy(value, 'markers', options), null, options.indent),
  parse: (text, options = {}) => deserialize(JSON.parse(text), options),
  reviveFns: (value) => deserialize(value, { functions: true }),
};
})()`;
  return `var { stringify: ${stringify}, parse: ${parse}, reviveFns: ${reviveFns} } = ${machinery};\n`;
}
