// Observes which files and variables a listing is made from, and keeps it for the next run (decision 0109).

import { writeFileAtomic } from '../files/write.js';
import type { Io } from './io.js';
import type { KeptHead } from './kept-list.js';
import { NO_FLAGS, printListed } from './listed.js';
import type { Listed } from './listing.js';
import { observeFiles } from './observed-files.js';
import { observeVariables } from './observed-variables.js';
import { createTerminal } from './terminal.js';

export interface Observation {
  /** Returns the built-in modules that the observed code uses. */
  builtin(id: string): unknown;
  /** The process around the observed command. */
  readonly io: Io;
  /** Keeps the listing, if everything that it depends on is known. */
  save(file: string, build: string): void;
}

// These have no access to files or other processes.
const HARMLESS = new Set(['path', 'url', 'util', 'os', 'buffer', 'string_decoder', 'events', 'module', 'crypto']);

/** Observes a command; `io` and the built-in modules that it gets are those of the result. */
export function observe(io: Io): Observation {
  const files = observeFiles();
  const variables = observeVariables(io.env);
  let isComplete = true;
  let kept: Listed | undefined;
  return {
    builtin(id) {
      const name = id.replace('node:', '');
      if (name === 'fs') return files.fs;
      if (!HARMLESS.has(name)) isComplete = false;
      return undefined;
    },
    io: {
      ...io,
      env: variables.env,
      stderr: {
        ...io.stderr,
        // A warning would be missing from the next run.
        write(text) {
          if (kept === undefined) isComplete = false;
          io.stderr.write(text);
        },
      },
      keepListed(listed) {
        kept = listed;
      },
    },
    save(file, build) {
      const lookups = files.lookups(io.now());
      const env = variables.values();
      if (!isComplete || kept === undefined || lookups === undefined || env === undefined) return;
      const [out, err] = printPlain(kept, io);
      const texts = [Buffer.byteLength(out), Buffer.byteLength(err)] as const;
      const head: KeptHead = { build, cwd: io.cwd(), env, lookups, texts };
      const text = `${JSON.stringify(head)}\n${out}${err}${JSON.stringify(kept)}`;
      try {
        writeFileAtomic(file, text, { durable: false });
      } catch {
        // Not an error: the next run lists again.
      }
    },
  };
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
