// The command line that starts this very wield again, from a program that has another search path than this shell.

import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import type { Io } from './io.js';

export interface OwnCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Whether it runs from a cache that npm empties as it likes. */
  readonly fleeting: boolean;
}

/**
 * By its name where the file is shared with others and `wield` on the search path is this one, by its path there for the
 * person alone; else by the file of the binary and the Node that runs it.
 */
export function findOwnCommand(io: Io, shared: boolean): OwnCommand {
  const { env } = io;
  const binary = realpathSync(io.binary);
  const installed = search(env, 'wield', binary);
  if (installed !== undefined) return { command: shared ? 'wield' : installed, args: [], fleeting: false };
  // A stable link such as `/usr/local/bin/node` outlives the version it leads to.
  const node = search(env, 'node', realpathSync(process.execPath)) ?? process.execPath;
  return { command: node, args: [binary], fleeting: binary.includes(`${sep}_npx${sep}`) };
}

// Directories that npm puts there for a moment are not on anyone else's search path.
function search({ PATH = '' }: Io['env'], program: string, real: string): string | undefined {
  return PATH.split(delimiter)
    .filter((directory) => isAbsolute(directory) && !/[\\/]node_modules[\\/]\.bin$/.test(directory))
    .map((directory) => join(directory, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return realpathSync(path) === real;
      } catch {
        return false;
      }
    });
}
