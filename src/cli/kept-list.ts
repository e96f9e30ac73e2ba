// Shows a kept listing if every file and variable that it was made from is unchanged (decision 0109).

import { join } from 'node:path';
import { hashName } from '../files/checksum.js';
import { readOwnFile } from './chunks.js';
import type { Io } from './io.js';
import { NO_FLAGS, printListed } from './listed.js';
import type { Listed } from './listing.js';
import { areCurrent, type Lookups } from './lookups.js';
import { ClosedOutput, createTerminal } from './terminal.js';

/** The first line of a kept listing. The text of `wield list` follows, for stdout and stderr, then the listing as JSON. */
export interface KeptHead {
  readonly build: string;
  readonly cwd: string;
  /** Null: not set. */
  readonly env: Readonly<Record<string, string | null>>;
  readonly lookups: Lookups;
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
  const kept = readKept(file, build, io);
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

function readKept(file: string, build: string, { env, cwd }: Io) {
  const bytes = readOwnFile(file);
  if (bytes === undefined) return undefined;
  try {
    const end = bytes.indexOf('\n');
    const { lookups, texts, ...made } = JSON.parse(bytes.toString('utf8', 0, end)) as KeptHead;
    if (made.build !== build || made.cwd !== cwd()) return undefined;
    if (!Object.entries(made.env).every(([name, value]) => (env[name] ?? null) === value)) return undefined;
    if (!areCurrent(lookups)) return undefined;
    const out = end + 1;
    const err = out + texts[0];
    const rest = err + texts[1];
    return {
      texts: (): [string, string] => [bytes.toString('utf8', out, err), bytes.toString('utf8', err, rest)],
      listed: () => JSON.parse(bytes.toString('utf8', rest)) as Listed,
    };
  } catch {
    return undefined;
  }
}
