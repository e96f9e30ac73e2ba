// What is done of a command before its code is loaded.

import type { Io } from './io.js';

/** The process for the command itself. */
export interface Beginning {
  readonly io: Io;
  /** Returns the built-in modules for the command, if they are other ones. */
  readonly builtin?: (id: string) => unknown;
  /** Called when the command has succeeded. */
  save?(): void;
}

/** Returns the exit status if nothing is left to do, and undefined if nothing was done. */
export type Begin = (
  argv: readonly string[],
  wieldHome: string,
  build: string,
) => Beginning | number | undefined | Promise<Beginning | number | undefined>;
