// Text output and questions: colour and progress only on a terminal.

import type { ReadStream } from 'node:tty';
import { styleText } from 'node:util';
import { MACHINE_HINTS, systemReason, ToolError } from '../core/error.js';
import type { Io } from './io.js';

type Colour = 'red' | 'yellow' | 'green' | 'cyan' | 'dim' | 'bold';

export type Terminal = ReturnType<typeof createTerminal>;

const CLEAR = '\r\u001b[K';

/** Thrown by a write to a pipe whose reader is gone; not an error (CLI-10). */
export class ClosedOutput extends Error {}

// ERR-6: output that is cut must not look complete.
function toOutputError(error: unknown): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  // A socket with unread data is reset.
  if (code === 'EPIPE' || code === 'ECONNRESET') return new ClosedOutput();
  return new ToolError('io', `could not write the output: ${systemReason(error)}`, {
    hint: MACHINE_HINTS[code] ?? 'check where standard output goes, then run the command again',
    data: { errno: code },
    cause: error,
  });
}

export function createTerminal(io: Io, { plain }: { readonly plain: boolean }) {
  const { stdin, stdout, stderr, env } = io;
  const outIsTerminal = stdout.isTerminal;
  const errIsTerminal = stderr.isTerminal;
  const isMutedByEnv = Boolean(env.NO_COLOR) || Boolean(env.CI) || env.TERM === 'dumb';
  let isPlain = plain;
  const isMuted = (): boolean => isPlain || isMutedByEnv;
  const showsColour = (stream: 'out' | 'err'): boolean =>
    !isMuted() && (stream === 'out' ? outIsTerminal : errIsTerminal);
  let lastQuestion: Promise<unknown> = Promise.resolve();
  let hasTransient = false;
  const clearTransient = (): void => {
    if (hasTransient) stderr.write(CLEAR);
    hasTransient = false;
  };
  return {
    io,
    /** Shows a line on a terminal that the next output replaces; an empty text clears it. */
    showTransient(text: string): void {
      clearTransient();
      if (text === '' || isMuted() || !errIsTerminal) return;
      stderr.write(`${text}\r`);
      hasTransient = true;
    },
    /** Writes data to stdout. Throws `ClosedOutput` if the reader is gone, else `io`. */
    out(text: string): void {
      clearTransient();
      try {
        stdout.write(text);
      } catch (error) {
        throw toOutputError(error);
      }
    },
    /** The same without blocking, so that signals and timeouts are still handled. */
    async outAsync(bytes: Uint8Array): Promise<void> {
      clearTransient();
      await stdout.writeAsync(bytes).catch((error) => {
        throw toOutputError(error);
      });
    },
    /** Writes everything else to stderr. */
    err(text: string): void {
      clearTransient();
      stderr.write(text);
    },
    /** Sets `--plain`, once it is known whether it is a parameter of a tool. */
    setPlain(value: boolean): void {
      isPlain = value;
    },
    /** Colours text for one of the streams if it shows colour. */
    paint: (colour: Colour, text: string, stream: 'out' | 'err' = 'out'): string =>
      showsColour(stream) ? styleText(colour, text) : text,
    get outIsTerminal() {
      return outIsTerminal && !isPlain;
    },
    get errIsTerminal() {
      return errIsTerminal && !isMuted();
    },
    get inIsTerminal() {
      return stdin.isTerminal;
    },
    /** Whether the user can be asked: stdin and stderr are terminals, and this is not CI. */
    get canAsk() {
      return !env.CI && errIsTerminal && stdin.isTerminal;
    },
    columns: Number(env.COLUMNS) || (outIsTerminal && stdout.columns) || 100,
    /** Runs one question after another: a tool may have several at once. */
    inTurn<T>(ask: () => Promise<T>): Promise<T> {
      const answer = lastQuestion.then(ask);
      lastQuestion = answer.catch(() => {});
      return answer;
    },
  };
}

/** Returns the smaller known width: a line that the terminal itself wraps could be made to look like ours (A41). */
export function widthOf({ columns, io }: Terminal): number {
  return Math.max(40, Math.min(columns, io.stderr.columns || columns));
}

/** Reads one line of stdin; its end is an empty answer. */
export function readLine({ io }: Terminal, signal: AbortSignal, limit = 1000): Promise<string> {
  const stdin = io.stdin.stream();
  if (stdin.readableEnded || signal.aborted) return Promise.resolve('');
  return new Promise((resolve) => {
    let text = '';
    const end = (): void => {
      stdin.off('data', onData).off('end', end).off('error', end).pause();
      signal.removeEventListener('abort', end);
      resolve(text);
    };
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      if (text.includes('\n') || text.length > limit) end();
    };
    stdin.on('data', onData).once('end', end).once('error', end);
    signal.addEventListener('abort', end, { once: true });
    stdin.resume();
  });
}

/** Reads a line without showing it. The prompt is shown once nothing is echoed any more. */
export async function readHidden(terminal: Terminal, prompt: string, signal: AbortSignal): Promise<string> {
  const stdin = terminal.io.stdin.stream() as Partial<ReadStream>;
  stdin.setRawMode?.(true);
  try {
    terminal.err(prompt);
    let text = '';
    for (;;) {
      // Without line editing of the system, each key arrives by itself.
      for (const key of await readLine(terminal, signal, 0)) {
        if (key === '\r' || key === '\n') return `${text}\n`;
        if (key === '\u0003' || key === '\u0004') return '';
        text = key === '\u007f' || key === '\b' ? text.slice(0, -1) : text + key;
      }
      if (signal.aborted || stdin.readableEnded === true) return '';
    }
  } finally {
    stdin.setRawMode?.(false);
    terminal.err('\n');
  }
}

/** Wraps lines to the terminal, so that a long value cannot forge a line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [''];
  let used = 0;
  for (const character of text) {
    // Some characters may be two columns wide.
    const columns = character.codePointAt(0)! > 0x7e ? 2 : 1;
    if (used + columns > width) {
      lines.push('');
      used = 0;
    }
    lines[lines.length - 1] += character;
    used += columns;
  }
  return lines;
}
