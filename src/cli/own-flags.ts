// Which of `--json`, `--plain` and `--verbose` on a command line are wield's; after the name of a tool they may be its parameters.

import { sanitize } from '../core/text.js';
import type { Terminal } from './terminal.js';

export type OwnFlags = ReturnType<typeof createOwnFlags>;

export function createOwnFlags(argv: readonly string[], terminal: Terminal) {
  const { env } = terminal.io;
  const always = [env.WIELD_LOG, env.OCTOMIND_LOG].includes('debug'); // CLI-12
  // Parsing the flags may fail, so until then the argument itself counts.
  let json = argv.includes('--json');
  let isVerbose = always || argv.includes('--verbose');
  let waiting: string[] | undefined = always ? undefined : [];
  const print = (message: string): void => terminal.err(`debug  ${sanitize(message)}\n`);
  const flush = (): void => {
    const messages = waiting ?? [];
    waiting = undefined;
    if (isVerbose) messages.forEach(print);
  };
  return {
    /** Whether errors are printed as JSON. */
    json: () => json,
    /** Prints debug output, held back until the flags are settled; undefined if there is none. */
    debug: isVerbose
      ? (message: string) => {
          if (waiting !== undefined) waiting.push(message);
          else if (isVerbose) print(message);
        }
      : undefined,
    /** Sets the flags of wield, once the parameters of a tool are known. */
    settle(flags: ReadonlyMap<string, string | true>): void {
      json = flags.has('json');
      terminal.setPlain(flags.has('plain'));
      isVerbose = always || flags.has('verbose');
      flush();
    },
    /** Prints what was held back. */
    flush,
  };
}
