// The request to run a process, and its outcome.

import type { Spill } from '../core/executor.js';
import type { World } from '../core/snapshot.js';
import type { ResultWriter } from '../core/store.js';
import type { Egress } from './sandbox/egress.js';

export interface ProcessRequest {
  /** The command line; the first entry is an absolute path. */
  readonly argv: readonly string[];
  /** The first entry of the command line as the program sees it. */
  readonly argv0?: string | undefined;
  /** Passed on as descriptor 3. */
  readonly descriptor?: number | undefined;
  /** A file that is passed on as descriptor 9, for the launcher of a sandbox. */
  readonly filter?: string | undefined;
  /** Serves the network of a sandbox with a list of hosts. */
  readonly egress?: Egress | undefined;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** That of this process by default. */
  readonly umask?: number | undefined;
  readonly stdin: string;
  readonly timeoutMs: number;
  /** The cap: bytes of both streams together that are kept. */
  readonly outputBytes: number;
  /** Ends the process early. */
  readonly signal?: AbortSignal;
  /** Called when it has started. If set, the signal leaves it as much time to end as its time limit does. */
  readonly onBackground?: ((pid: number) => void) | undefined;
  /** Returns the part of a stderr chunk that is output. */
  readonly filterStderr?: (chunk: Buffer) => Buffer;
  /** Called once, before the first output is passed on. */
  readonly onFirstOutput?: (() => void) | undefined;
  /** Stores stdout that is too large for memory; the cap still applies. */
  readonly spill?: Spill;
  /** Receives output as it is written; a promise applies backpressure. The cap then only limits what is kept. */
  readonly onOutput?: (chunk: Buffer, from: 'stdout' | 'stderr') => void | Promise<void>;
}

/** Receives output; a promise applies backpressure. */
export type Receive = (chunk: Buffer, from: 'stdout' | 'stderr') => void | Promise<void>;

/** What is started, as plain data. */
export interface RunRequest
  extends Pick<ProcessRequest, 'argv' | 'argv0' | 'filter' | 'cwd' | 'environment' | 'stdin' | 'timeoutMs'> {
  /** In the environment of every process of the run. */
  readonly mark: string;
}

export type ProcessEnd = Pick<ProcessOutcome, 'ending' | 'exitCode' | 'signal'>;

export interface SuperviseOptions {
  /** Passed on as descriptor 3. */
  readonly descriptor?: number | undefined;
  readonly egress?: Egress | undefined;
  readonly receive: Receive;
  readonly onStarted?: (pid: number) => void;
  readonly world: World;
}

/** Why a process is ended early. */
export type Stop = Exclude<ProcessOutcome['ending'], 'exit'>;

/** A process that is started and watched. */
export interface Run {
  /** Ends its group early. */
  stop(why: Stop): void;
  /** Resolves when nothing of it is left. Rejects with `exec_failed` if it could not be started. */
  readonly ended: Promise<ProcessEnd>;
}

export interface ProcessOutcome {
  readonly ending: 'exit' | 'timeout' | 'cancelled' | 'capped';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** All of stdout, if it was too large for memory; `stdout` is then its beginning. */
  readonly spilled?: ResultWriter;
  /** Bytes of both streams that were kept, in memory or spilled. */
  readonly keptBytes: number;
  /** Whether more was written than was kept. */
  readonly exceeded: boolean;
  /** Why stdout could not be stored; `stdout` is then its beginning. */
  readonly fault?: unknown;
}
