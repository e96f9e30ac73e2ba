// Copies and texts of any value for people and logs: bounded, readable, never throwing; nothing is read back.

import { createCopier, type SerializeOptions } from './serializer/copy.js';
import { createFrames } from './serializer/frames.js';

export interface SafeCloneOptions extends SerializeOptions {}

const { copy, write } = createCopier(createFrames());

/** JSON.stringify that stands functions, promises, cycles, bigints and any depth. */
export function safeStringify(value: unknown, indent?: number): string {
  return write(copy(value, 'text'), indent);
}

/** A plain JSON copy, 64 levels deep unless told otherwise, and within `maxBytes` of JSON where that is given. */
export function safeClone(value: unknown, options: SafeCloneOptions = {}): unknown {
  return copy(value, 'text', { maxDepth: 64, ...options });
}

/** A small copy for events and diagnostics. */
export function safeSnapshot(value: unknown, maxDepth = 4, maxBytes = 10 * 1024): unknown {
  return copy(value, 'text', { maxDepth, maxBytes });
}

/** A context for logs: functions left out, `"[Circular]"` for what leads back, null where there is none. */
export function serializeContext(context: unknown, maxDepth = 6): Record<string, unknown> | null {
  if (typeof context !== 'object' || context === null) return null;
  const copied = copy(context, 'context', { maxDepth });
  return typeof copied === 'object' ? (copied as Record<string, unknown>) : null;
}
