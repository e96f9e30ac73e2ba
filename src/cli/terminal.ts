// Text output and questions: colour and progress only on a terminal.

import { styleText } from 'node:util';
import type { Io } from './io.js';

export type Colour = 'red' | 'yellow' | 'green' | 'cyan' | 'dim' | 'bold';

export interface Terminal {
  readonly io: Io;
  /** Writes data to stdout. */
  out(text: string): void;
  /** Writes everything else to stderr. */
  err(text: string): void;
  /** Colours text for one of the streams if it shows colour. */
  paint(colour: Colour, text: string, stream?: 'out' | 'err'): string;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly inIsTerminal: boolean;
  /** Whether the user can be asked: stdin and stderr are terminals, and this is not CI. */
  readonly canAsk: boolean;
  readonly columns: number;
  /** Runs one question after another: a tool may have several at once. */
  inTurn<T>(ask: () => Promise<T>): Promise<T>;
}

/** Thrown by a write to a pipe whose reader is gone; not an error (CLI-10). */
export class ClosedOutput extends Error {}

export interface TerminalOptions {
  readonly plain: boolean;
}

export function createTerminal(io: Io, { plain }: TerminalOptions): Terminal {
  const { stdin, stdout, stderr, env } = io;
  const outIsTerminal = stdout.isTerminal;
  const errIsTerminal = stderr.isTerminal;
  const muted = plain || Boolean(env.NO_COLOR) || Boolean(env.CI) || env.TERM === 'dumb';
  const colours = { out: outIsTerminal && !muted, err: errIsTerminal && !muted };
  let lastQuestion: Promise<unknown> = Promise.resolve();
  return {
    io,
    out(text) {
      try {
        stdout.write(text);
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'EPIPE' ? new ClosedOutput() : error;
      }
    },
    err: (text) => stderr.write(text),
    paint: (colour, text, stream = 'out') => (colours[stream] ? styleText(colour, text) : text),
    outIsTerminal: outIsTerminal && !plain,
    errIsTerminal: errIsTerminal && !muted,
    get inIsTerminal() {
      return stdin.isTerminal;
    },
    get canAsk() {
      return !env.CI && errIsTerminal && stdin.isTerminal;
    },
    columns: Number(env.COLUMNS) || (outIsTerminal && stdout.columns) || 100,
    inTurn(ask) {
      const answer = lastQuestion.then(ask);
      lastQuestion = answer.catch(() => {});
      return answer;
    },
  };
}
