// The process around one command: streams, environment, current directory, clock, signals.

import { isAbsolute, resolve } from 'node:path';
import type { Readable } from 'node:stream';

export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface Output {
  readonly isTerminal: boolean;
  /** The width of the terminal, if it is one. */
  readonly columns: number | undefined;
  /** Writes everything before it returns. Throws the error of the system: `EPIPE` if the reader is gone. */
  write(text: string): void;
  /** The same without blocking, so that signals and timeouts are still handled. */
  writeAsync(bytes: Uint8Array): Promise<void>;
}

export interface Input {
  readonly isTerminal: boolean;
  /** A function, because creating the stream loads modules that most commands do not need. */
  stream(): Readable;
}

/** Everything a command uses of its process; `run` touches nothing else of it. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws if the current directory was removed. */
  cwd(): string;
  now(): number;
  /** The file of the `wield` binary. */
  readonly binary: string;
  /** Calls the listener with signals; it returns whether the signal stops the command. */
  onSignal(listener: (signal: Signal) => boolean): void;
  /** Calls the listener with errors that nobody handled; the process ends unless it returns true. */
  readonly onFault?: ((listener: (error: unknown) => boolean) => void) | undefined;
  /** Redirects everything else that is printed to stdout to stderr: stdout carries a protocol (SRV-7). */
  reserveStdout(): void;
}

/** Resolves a path of the command line; an absolute one needs no current directory. */
export function resolvePath(io: Io, path: string): string {
  return isAbsolute(path) ? resolve(path) : resolve(io.cwd(), path);
}
