// Serialisation: any value as JSON that can be read back, without ever throwing on what it holds (HLP-2).

import { createCopier, type SerializeOptions } from './serializer/copy.js';
import { createFrames } from './serializer/frames.js';
import { createReviver, type DeserializeOptions } from './serializer/revive.js';

export interface StringifyOptions extends SerializeOptions {
  readonly indent?: number;
}

const frames = createFrames();
const { copy, write } = createCopier(frames);
const reviver = createReviver(frames);

/**
 * A JSON-safe copy of any value: what JSON lacks becomes a marker (`{ "$map": … }`, `{ "$fn": … }`), and data that
 * looks like a marker is wrapped in `{ "$plain": … }`, so that it stays data.
 */
export function serialize(value: unknown, options: SerializeOptions = {}): unknown {
  return copy(value, 'markers', options);
}

/** The value that `serialize` was given; functions stay markers unless `functions` is true. */
export function deserialize(value: unknown, options: DeserializeOptions = {}): unknown {
  return reviver.deserialize(value, options);
}

/** The JSON text of `serialize(value)`: on plain values that of JSON.stringify. */
export function stringify(value: unknown, options: StringifyOptions = {}): string {
  return write(serialize(value, options), options.indent);
}

/** The value of text that `stringify` wrote: on plain values that of JSON.parse, syntax errors included. */
export function parse(text: string, options: DeserializeOptions = {}): unknown {
  return deserialize(JSON.parse(text), options);
}

/** `deserialize` with functions: runs their source text, so only for values that you would run anyway. */
export function reviveFns(value: unknown): unknown {
  return deserialize(value, { functions: true });
}
