// Keeps the listing of an observed `wield list` for the next run (decision 0109).

import type { Io } from './io.js';
import { type KeptFor, writeKept } from './kept-file.js';
import type { KeptListHead } from './kept-list.js';
import { NO_FLAGS, printListed } from './listed.js';
import type { Listed } from './listing.js';
import { type Observation, observe } from './observe.js';
import { createTerminal } from './terminal.js';

export interface ObservedList extends Pick<Observation, 'builtin' | 'io'> {
  /** Keeps the listing, if everything that it depends on is known. */
  save(): void;
}

export function observeList(file: string, build: string, given: Io): ObservedList {
  const { builtin, io, used, stop } = observe(given);
  let keep = (): void => {};
  return {
    builtin,
    io: {
      ...io,
      // What is printed after this belongs to the listing.
      keepListed(listed) {
        const head = used();
        stop();
        if (head !== undefined) keep = () => saveListed(file, { build, io: given }, head, listed);
      },
    },
    save: () => keep(),
  };
}

function saveListed(
  file: string,
  { build, io }: KeptFor & { readonly io: Io },
  used: NonNullable<ReturnType<Observation['used']>>,
  listed: Listed,
): void {
  const [out, err] = printPlain(listed, io);
  const head: KeptListHead = { build, ...used, texts: [Buffer.byteLength(out), Buffer.byteLength(err)] };
  writeKept(file, head, `${out}${err}${JSON.stringify(listed)}`);
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
