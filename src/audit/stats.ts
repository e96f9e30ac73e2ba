// Sums of the records of the audit log: calls, refusals, durations and tokens.

import { ERROR_CODES } from '../core/error.js';
import type { AuditRecord } from './line.js';

/** What calls add up to; durations are null without calls that ran. Tokens are estimates. */
export interface CallStats {
  readonly calls: number;
  readonly refused: number;
  /** Without those that were refused. */
  readonly failed: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly inputTokens: number;
  readonly resultTokens: number;
}

// The log has sizes, not texts.
const BYTES_PER_TOKEN = 4;
// A caller gets the beginning of a stored result, and how to read on.
const STORED_BYTES = 1000;
const REFUSED_STATUS = 5;

/** Whether a call was refused: by a rule, or because nobody approved it. */
export function isRefused({ verdict, code }: AuditRecord): boolean {
  return verdict === 'deny' || (code !== null && ERROR_CODES[code]?.exit === REFUSED_STATUS);
}

/** Adds records up. */
export class CallSums {
  #calls = 0;
  #refused = 0;
  #failed = 0;
  #inputBytes = 0;
  #outputBytes = 0;
  readonly #durations: number[] = [];

  add(record: AuditRecord): void {
    const { code, durationMs, inputBytes, outputBytes, handle } = record;
    this.#calls++;
    if (isRefused(record)) this.#refused++;
    else {
      if (code !== null) this.#failed++;
      // A line of the file may have been written by hand.
      if (record.interrupted !== true && Number.isFinite(durationMs)) this.#durations.push(durationMs);
    }
    this.#inputBytes += Number(inputBytes ?? 0) || 0;
    const size = Number(outputBytes) || 0;
    this.#outputBytes += handle === null ? size : Math.min(size, STORED_BYTES);
  }

  read(): CallStats {
    const sorted = Float64Array.from(this.#durations).sort();
    const at = (share: number): number | null => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
    const tokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);
    return {
      calls: this.#calls,
      refused: this.#refused,
      failed: this.#failed,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      inputTokens: tokens(this.#inputBytes),
      resultTokens: tokens(this.#outputBytes),
    };
  }
}

/** Adds records up by a name. */
export class SumsByName {
  readonly #sums = new Map<string, CallSums>();

  add(name: string, record: AuditRecord): void {
    let sums = this.#sums.get(name);
    if (sums === undefined) {
      sums = new CallSums();
      this.#sums.set(name, sums);
    }
    sums.add(record);
  }

  read(): [string, CallStats][] {
    return [...this.#sums].map(([name, sums]) => [name, sums.read()]);
  }
}
