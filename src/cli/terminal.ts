// The terminal: writes that never lose a byte, colour only where a person reads.

import { fstatSync, statSync, write, writeSync } from 'node:fs';
import { styleText } from 'node:util';

export type Colour = 'red' | 'yellow' | 'green' | 'cyan' | 'dim' | 'bold';

export interface Terminal {
  /** Data. */
  out(text: string): void;
  /** Everything else. */
  err(text: string): void;
  /** Coloured for the stream it is meant for, plain where nobody sees colour. */
  paint(colour: Colour, text: string, stream?: 'out' | 'err'): string;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly inIsTerminal: boolean;
  /** Whether a person can be shown a question and answer it: never in CI, terminal or not. */
  readonly canAsk: boolean;
  readonly columns: number;
}

/** Thrown by a write to a pipe that nobody reads any more; not an error (CLI-10). */
export class ClosedOutput extends Error {}

export interface TerminalOptions {
  readonly plain: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function createTerminal({ plain, env }: TerminalOptions): Terminal {
  const outIsTerminal = isTerminal(1);
  const errIsTerminal = isTerminal(2);
  const muted = plain || Boolean(env.NO_COLOR) || Boolean(env.CI) || env.TERM === 'dumb';
  const colours = { out: outIsTerminal && !muted, err: errIsTerminal && !muted };
  return {
    out: (text) => writeAll(1, text),
    err: (text) => writeAll(2, text),
    paint: (colour, text, stream = 'out') => (colours[stream] ? styleText(colour, text) : text),
    outIsTerminal: outIsTerminal && !plain,
    errIsTerminal: errIsTerminal && !muted,
    get inIsTerminal() {
      return isTerminal(0);
    },
    get canAsk() {
      return !env.CI && errIsTerminal && isTerminal(0);
    },
    columns: Number(env.COLUMNS) || (outIsTerminal && process.stdout.columns) || 100,
  };
}

// Asking node:tty loads sockets and streams, 6 ms of them: a pipe, a file and /dev/null answer without.
function isTerminal(descriptor: 0 | 1 | 2): boolean {
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isCharacterDevice() || stats.rdev === statSync('/dev/null').rdev) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule('node:tty').isatty(descriptor);
}

function writeAll(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(descriptor, bytes, offset);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') pauseBriefly();
      else if (descriptor === 2) return;
      else if (code === 'EPIPE') throw new ClosedOutput();
      else throw error;
    }
  }
}

// The reader of a non-blocking pipe is slow: wait without spinning.
function pauseBriefly(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
}

/** Writes all bytes without blocking: a slow reader must not keep signals and time limits from being heard. */
export function writeAsync(descriptor: number, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (offset: number): void => {
      write(descriptor, bytes, offset, (error, written) => {
        if (error?.code === 'EAGAIN') setTimeout(next, 5, offset);
        else if (error) reject(error);
        else if (offset + written < bytes.length) next(offset + written);
        else resolve();
      });
    };
    next(0);
  });
}
