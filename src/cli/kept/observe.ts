// Observes which files and variables a command uses, so that its result can be kept (decision 0109).

import type { Io } from '../io.js';
import type { KeptHead } from './file.js';
import { observeFiles } from './observed-files.js';
import { observeVariables } from './observed-variables.js';

export type Used = Omit<KeptHead, 'build'>;

export interface Observation {
  /** Returns the built-in modules that the observed code uses. */
  builtin(id: string): unknown;
  /** The process around the observed command. */
  readonly io: Io;
  /** Returns what the command has used so far; undefined if that may not be all. */
  used(): Used | undefined;
  /** Ends the observation; the command may continue. */
  stop(): void;
}

// These have no access to files or other processes.
const HARMLESS = new Set([
  ...['path', 'url', 'util', 'os', 'buffer', 'string_decoder', 'events', 'module', 'crypto'],
  ...['timers', 'timers/promises'],
]);

/** Observes a command; `io` and the built-in modules that it gets are those of the result. */
export function observe(io: Io): Observation {
  const files = observeFiles();
  const variables = observeVariables(io.env);
  let isComplete = true;
  let isStopped = false;
  return {
    builtin(id) {
      if (isStopped) return undefined;
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
          isComplete = false;
          io.stderr.write(text);
        },
      },
    },
    used() {
      const lookups = files.lookups(io.now());
      const env = variables.values();
      if (!isComplete || lookups === undefined || env === undefined) return undefined;
      return { cwd: io.cwd(), env, lookups };
    },
    stop() {
      isStopped = true;
      files.stop();
    },
  };
}

/** Observes a command until it calls `keep`; `save` writes the value, if everything that it depends on is known. */
export function observeUntilKept<Value>(given: Io, write: (used: Used, value: Value) => void) {
  const { builtin, io, used, stop } = observe(given);
  let save = (): void => {};
  return {
    builtin,
    io,
    keep(value: Value): void {
      const head = used();
      stop();
      if (head !== undefined) save = () => write(head, value);
    },
    save: () => save(),
  };
}
