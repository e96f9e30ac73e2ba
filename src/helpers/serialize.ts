// Serialization of any value as JSON that can be parsed back; never throws because of what a value contains (HLP-2).

import { assemble, PARTS } from './serializer/assemble.js';
import type { SerializeOptions } from './serializer/copy.js';
import type { DeserializeOptions } from './serializer/revive.js';

export interface StringifyOptions extends SerializeOptions {
  readonly indent?: number;
}

const serializer = assemble(PARTS);

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
  return serializer.write(serialize(value, options), options.indent);
}

/** Parses text written by `stringify`; for plain values the same as JSON.parse, including syntax errors. */
export function parse(text: string, options: DeserializeOptions = {}): unknown {
  return deserialize(JSON.parse(text), options);
}

/** Like `deserialize`, but evaluates functions; only for values from a trusted source. */
export function reviveFns(value: unknown): unknown {
  return deserialize(value, { functions: true });
}
