// Collects the output of a process up to one cap over both streams.

/** Output of one stream, kept within a budget that several collectors share. */
export interface Collector {
  readonly bytes: () => Buffer;
  add(chunk: Buffer): void;
}

/** A number of bytes that may still be kept. */
export interface Budget {
  left: number;
  /** Whether something did not fit. */
  exceeded: boolean;
}

export function createCollector(budget: Budget): Collector {
  const chunks: Buffer[] = [];
  return {
    bytes: () => Buffer.concat(chunks),
    add(chunk) {
      const kept = chunk.length > budget.left ? chunk.subarray(0, budget.left) : chunk;
      if (kept.length < chunk.length) budget.exceeded = true;
      budget.left -= kept.length;
      if (kept.length > 0) chunks.push(kept);
    },
  };
}
