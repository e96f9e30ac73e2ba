// Middleware `cache`: reuses recent outputs of read-only tools.

import { canonicalJson } from '../../core/json.js';
import type { CacheOptions } from '../../core/middleware-settings.js';
import type { Output } from '../../core/result.js';
import type { Middleware, ServedCall } from '../../runtime/middleware.js';
import { assertAtLeast } from './options.js';

interface Entry {
  /** The output as JSON, so that callers cannot change the cached value. */
  readonly text: string;
  readonly bytes: number;
  readonly expiresAt: number;
}

/**
 * Caches complete, successful outputs of read-only tools by tool digest, input, caller and workdir. Equal calls that
 * run at the same time are not joined, because cancelling one must not affect the others.
 */
export function cache(options: CacheOptions = {}): Middleware {
  const { maxAgeMs = 60_000, maxEntries = 1000, maxBytes = 16 * 1024 * 1024 } = options;
  assertAtLeast('cache', { maxAgeMs, maxEntries, maxBytes }, 1);
  // Least recently used first.
  const entries = new Map<string, Entry>();
  let bytes = 0;

  const remove = (key: string): void => {
    bytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };
  const keep = (key: string, output: Output, now: number): void => {
    const text = toText(output);
    if (text === undefined) return;
    const size = 2 * (key.length + text.length);
    remove(key);
    if (size > maxBytes) return;
    entries.set(key, { text, bytes: size, expiresAt: now + maxAgeMs });
    bytes += size;
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries && bytes <= maxBytes) break;
      remove(oldest);
    }
  };

  return {
    name: 'cache',
    for: options.for,
    async run(call, next) {
      if (call.tool.traits.readOnly !== true || call.tool.traits.destructive === true) return next();
      const key = keyOf(call);
      const known = entries.get(key);
      if (known !== undefined && known.expiresAt > call.now()) {
        entries.delete(key);
        entries.set(key, known);
        const output = JSON.parse(known.text) as Output;
        return { ...output, meta: { ...output.meta, cached: true } };
      }
      const output = await next();
      if (output.error === undefined && output.meta?.truncated !== true) keep(key, output, call.now());
      return output;
    },
  };
}

function keyOf({ tool, input, caller, workdir }: ServedCall): string {
  return canonicalJson([tool.name, tool.origin.digest, input, caller.kind, caller.door, caller.name ?? null, workdir]);
}

// The output of a function tool may not be JSON; such an output is not cached.
function toText(output: Output): string | undefined {
  try {
    return JSON.stringify(output);
  } catch {
    return undefined;
  }
}
