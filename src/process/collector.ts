// Keeps the output of one stream within a budget, in memory or spilled to a result store.

import type { Spill } from '../core/executor.js';
import type { ResultWriter } from '../core/store.js';

/** The number of bytes that may still be kept, shared by both streams. */
export interface Budget {
  left: number;
  /** Whether output was dropped. */
  exceeded: boolean;
  /** Why output could not be stored, and was dropped. */
  fault?: unknown;
}

export interface Collector {
  readonly bytes: () => Buffer;
  readonly length: () => number;
  /** The writer that holds everything, if there was too much for memory. */
  readonly spilled: () => ResultWriter | undefined;
  add(chunk: Buffer): void;
}

export function createCollector(budget: Budget, spill?: Spill): Collector {
  const chunks: Buffer[] = [];
  let bytesInMemory = 0;
  let bytesSpilled = 0;
  let writer: ResultWriter | undefined;
  // Keeps the beginning in memory as well, for previews.
  const keep = (bytes: Buffer): number => {
    const head = bytes.subarray(0, Math.max(0, spill!.afterBytes - bytesInMemory));
    if (head.length > 0) chunks.push(head);
    bytesInMemory += head.length;
    return head.length;
  };
  const spillOver = (bytes: Buffer): void => {
    try {
      if (writer === undefined) {
        writer = spill!.open();
        for (const chunk of chunks) writer.write(chunk);
      }
      writer.write(bytes);
      bytesSpilled += bytes.length - keep(bytes);
    } catch (error) {
      // The tool runs to its end; what is in memory is reported with the error (STA-3).
      bytesSpilled = 0;
      writer?.discard();
      writer = undefined;
      budget.fault = error;
      keep(bytes);
    }
  };
  return {
    bytes: () => Buffer.concat(chunks),
    length: () => bytesInMemory + bytesSpilled,
    spilled: () => writer,
    add(chunk) {
      const kept = chunk.length > budget.left ? chunk.subarray(0, budget.left) : chunk;
      if (kept.length < chunk.length) budget.exceeded = true;
      budget.left -= kept.length;
      if (kept.length === 0) return;
      if (spill !== undefined && budget.fault !== undefined) {
        keep(kept);
        return;
      }
      if (spill !== undefined && (writer !== undefined || bytesInMemory + kept.length > spill.afterBytes)) {
        spillOver(kept);
        return;
      }
      bytesInMemory += kept.length;
      chunks.push(kept);
    },
  };
}
