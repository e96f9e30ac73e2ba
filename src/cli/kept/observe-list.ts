// Keeps the listing of an observed `wield list` for the next run (decision 0109).

import type { Beginning } from '../beginning.js';
import type { Io } from '../io.js';
import { NO_FLAGS, printListed } from '../listed.js';
import type { Listed } from '../listing.js';
import { createTerminal } from '../terminal.js';
import { writeKept } from './file.js';
import type { KeptListHead } from './list.js';
import { observeUntilKept } from './observe.js';

export function observeList(file: string, build: string, given: Io): Beginning {
  // What is printed after the listing is kept belongs to it.
  const { builtin, io, keep, save } = observeUntilKept<Listed>(given, (used, listed) => {
    const [out, err] = printPlain(listed, given);
    const head: KeptListHead = { build, ...used, texts: [Buffer.byteLength(out), Buffer.byteLength(err)] };
    writeKept(file, head, `${out}${err}${JSON.stringify(listed)}`);
  });
  return { builtin, io: { ...io, keepListed: keep }, save };
}

// What `wield list` prints into a pipe.
function printPlain(listed: Listed, io: Io): [out: string, err: string] {
  const out: string[] = [];
  const err: string[] = [];
  const toOutput = (texts: string[]): Io['stdout'] => ({
    isTerminal: false,
    columns: undefined,
    write: (text) => void texts.push(text),
    writeAsync: async () => {},
  });
  const plain = { ...io, stdout: toOutput(out), stderr: toOutput(err) };
  printListed(createTerminal(plain, { plain: true }), listed, NO_FLAGS);
  return [out.join(''), err.join('')];
}
