// What a process is asked to be, and what became of it.

import type { Spill } from '../core/executor.js';
import type { ResultWriter } from '../core/store.js';

export interface ProcessRequest {
  /** The command line; the first is an absolute path. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly timeoutMs: number;
  /** Bytes of both streams together that are kept. */
  readonly outputBytes: number;
  /** Ends the process early. */
  readonly signal?: AbortSignal;
  /** What of standard error counts as output. */
  readonly filterStderr?: (chunk: Buffer) => Buffer;
  /** Takes standard output beyond what is kept in memory; the cap still holds. */
  readonly spill?: Spill;
  /** Takes output as it comes; a promise holds the process back. With it the cap bounds only what is kept. */
  readonly onOutput?: (chunk: Buffer, from: 'stdout' | 'stderr') => void | Promise<void>;
}

export interface ProcessOutcome {
  readonly ending: 'exit' | 'timeout' | 'cancelled' | 'capped';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Holds all of standard output where it was too much for memory; `stdout` is then its beginning. */
  readonly spilled?: ResultWriter;
  /** Bytes of both streams that were kept, here or there. */
  readonly keptBytes: number;
  /** Whether more was written than was kept. */
  readonly exceeded: boolean;
}
