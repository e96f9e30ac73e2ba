// Shows a kept listing if every file and variable that it was made from is unchanged (decision 0109).

import { join } from 'node:path';
import { hashName } from '../../files/checksum.js';
import type { Io } from '../io.js';
import { NO_FLAGS, printListed } from '../listed.js';
import type { Listed } from '../listing.js';
import { ClosedOutput, createTerminal } from '../terminal.js';
import { type KeptFor, type KeptHead, readKept } from './file.js';

/** The text of `wield list` follows, for stdout and stderr, then the listing as JSON. */
export interface KeptListHead extends KeptHead {
  /** Lengths of the two texts in bytes. */
  readonly texts: readonly [out: number, err: number];
}

const FLAGS = new Set(['--json', '--all', '--hidden', '--plain']);

/** Returns the file of the listing of a directory, for commands that a kept listing can answer. */
export function findKept(argv: readonly string[], wieldHome: string, { cwd }: Io): string | undefined {
  if (argv[0] !== 'list' || !argv.slice(1).every((flag) => FLAGS.has(flag))) return undefined;
  try {
    return join(wieldHome, 'cache', 'lists', hashName(cwd()));
  } catch {
    // The directory was removed, which the command reports.
    return undefined;
  }
}

/** Prints a kept listing and returns the exit status; undefined if there is none or it is not current. */
export function showKept(file: string, build: string, argv: readonly string[], io: Io): number | undefined {
  const kept = readListed(file, { build, io });
  if (kept === undefined) return undefined;
  const terminal = createTerminal(io, { plain: argv.includes('--plain') });
  try {
    // The whole text is the same for every reader that is not a terminal.
    if (argv.length === 1 && !io.stdout.isTerminal && !io.stderr.isTerminal) {
      const [out, err] = kept.texts();
      terminal.out(out);
      terminal.err(err);
      return 0;
    }
    return printListed(terminal, kept.listed(), {
      ...NO_FLAGS,
      json: argv.includes('--json'),
      hidden: argv.includes('--hidden'),
      all: argv.includes('--all'),
    });
  } catch (error) {
    if (error instanceof ClosedOutput) return 0;
    throw error;
  }
}

function readListed(file: string, where: KeptFor) {
  const kept = readKept<KeptListHead>(file, where);
  try {
    if (kept === undefined || !kept.isCurrent()) return undefined;
    const { head, body } = kept;
    const [out, err] = head.texts;
    return {
      texts: (): [string, string] => [body.toString('utf8', 0, out), body.toString('utf8', out, out + err)],
      listed: () => JSON.parse(body.toString('utf8', out + err)) as Listed,
    };
  } catch {
    return undefined;
  }
}
