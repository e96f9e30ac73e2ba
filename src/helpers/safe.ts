// Readable, bounded copies of any value for logs; never throws, cannot be parsed back.

import { assemble, PARTS } from './serializer/assemble.js';
import type { SerializeOptions } from './serializer/copy.js';

export interface SafeCloneOptions extends SerializeOptions {}

const { copy, write } = assemble(PARTS);

/** Like JSON.stringify, for values with functions, promises, cycles, bigints and any depth. */
export function safeStringify(value: unknown, indent?: number): string {
  return write(copy(value, 'text'), indent);
}

/** Returns a plain JSON copy, by default 64 levels deep, and limited to `maxBytes` of JSON if given. */
export function safeClone(value: unknown, options: SafeCloneOptions = {}): unknown {
  return copy(value, 'text', { maxDepth: 64, ...options });
}

/** Returns a small copy for events and diagnostics. */
export function safeSnapshot(value: unknown, maxDepth = 4, maxBytes = 10 * 1024): unknown {
  return copy(value, 'text', { maxDepth, maxBytes });
}

/** Copies a context for logs: without functions, with `"[Circular]"` for cycles; null if it is not an object. */
export function serializeContext(context: unknown, maxDepth = 6): Record<string, unknown> | null {
  if (typeof context !== 'object' || context === null) return null;
  const copied = copy(context, 'context', { maxDepth });
  return typeof copied === 'object' ? (copied as Record<string, unknown>) : null;
}
