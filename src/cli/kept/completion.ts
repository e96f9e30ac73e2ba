// The part of the binary that answers shells with kept completions: a file of its own, without the runtime.

import { join } from 'node:path';
import type { Completion } from '../../commands/complete.js';
import { hashName } from '../../files/checksum.js';
import { type Asked, isPlain, parseAsked, printAnswer } from '../asked.js';
import type { Beginning } from '../beginning.js';
import type { Io } from '../io.js';
import { createProcessIo } from '../process-io.js';
import { type KeptFor, readKept, writeKept } from './file.js';
import { observeUntilKept } from './observe.js';

/** Prints a kept completion and returns the exit status. Otherwise, observes the run that makes a new one. */
export function begin(argv: readonly string[], wieldHome: string, build: string): Beginning | number | undefined {
  const io = createProcessIo();
  const asked = parseAsked(argv.slice(1));
  const file = asked && findKept(asked, wieldHome, io);
  if (asked === undefined || file === undefined) return undefined;
  const kept = readCompletion(file, { build, io });
  if (kept === undefined) return observeCompletion(file, build, io);
  printAnswer(asked, kept, io);
  return 0;
}

// One file for each directory and first word, with the candidates for every begun word. Longer lines may contain secrets.
function findKept({ words, current }: Asked, wieldHome: string, { cwd }: Io): string | undefined {
  const [first = ''] = words;
  if (words.length > 1 || !isPlain(first) || !isPlain(current)) return undefined;
  try {
    return join(wieldHome, 'cache', 'completions', hashName(`${cwd()} ${first}`));
  } catch {
    // The directory was removed.
    return undefined;
  }
}

function readCompletion(file: string, where: KeptFor): Completion | undefined {
  const kept = readKept(file, where);
  try {
    return kept?.isCurrent() ? (JSON.parse(kept.body.toString('utf8')) as Completion) : undefined;
  } catch {
    return undefined;
  }
}

function observeCompletion(file: string, build: string, given: Io): Beginning {
  const { io, builtin, keep, save } = observeUntilKept<Completion>(given, (used, completion) =>
    writeKept(file, { build, ...used }, JSON.stringify(completion)),
  );
  return { io: { ...io, keepCompletion: keep }, builtin, save };
}
