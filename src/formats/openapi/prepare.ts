// Reads a document whole: here if it is small, else in a thread, so that nothing else has to wait.

import { dirname } from 'node:path';
import { type ErrorValue, reviveError } from '../../core/error.js';
import type { FileState } from '../../core/format.js';
import type { Boundary } from '../../core/origin.js';
import { isWithin, realPath } from '../../files/within.js';
import { findEntry } from '../../process/entry.js';
import { createLimits, openDocument, type ReadLimits } from './document.js';
import { namesIn, type OperationOptions, type ReadOperations, readOperations } from './operations.js';

export interface PrepareOptions extends OperationOptions {
  readonly boundary?: Boundary | undefined;
}

/** What a document offers. */
export interface Prepared extends ReadOperations {
  /** The files that were read, with their states; the first is the document itself. */
  readonly files: readonly (readonly [path: string, state: FileState])[];
  /** Names of all operations, also of those that are not wanted. */
  readonly names: readonly string[];
}

/** What the thread sends. */
export type ThreadAnswer = { readonly fault: ErrorValue } | { readonly packed: string };

// Reading these takes less than 50 ms.
const HERE = { bytes: 48 * 1024, values: 10_000 };
const THREAD_MS = 180_000;
const MEMORY_MB = 1024;
export const THREAD_ENTRY = 'openapi/thread.cjs';
const TOO_LARGE: ErrorValue = {
  code: 'invalid_definition',
  message: `is too large: reading it takes over ${THREAD_MS / 60_000} minutes, or over ${MEMORY_MB / 1024} GB of memory`,
  hint: 'keep the operations that you need; JSON needs less than YAML',
};

/** Says which readings of a document have the same result while its files do not change. */
export function keyOf({ name, settings, boundary }: PrepareOptions): string {
  const { position: _, ...used } = settings;
  return JSON.stringify([name, used, boundary?.directory]);
}

/** Reads a document. Throws `invalid_definition`. */
export function prepare(
  file: string,
  options: PrepareOptions,
  limits: ReadLimits,
  onRead?: (path: string, bytes: Buffer) => void,
): Prepared {
  const document = openDocument(file, options.boundary, limits, onRead);
  const found = readOperations(document, limits, options);
  return { ...found, files: [...document.files], names: [...namesIn(document)] };
}

/** Reads a document, or returns undefined if it is too large to be read here. Throws `invalid_definition`. */
export function prepareHere(file: string, options: PrepareOptions): Prepared | undefined {
  const limits = createLimits(HERE);
  try {
    const prepared = prepare(file, options, limits);
    return limits.isExceeded ? undefined : prepared;
  } catch (error) {
    if (limits.isExceeded) return undefined;
    throw error;
  }
}

/** Reads a document in a thread. Throws `invalid_definition`. */
export function packInThread(file: string, { boundary, ...options }: PrepareOptions): Promise<string> {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const worker = new Worker(findEntry(THREAD_ENTRY), {
    workerData: {
      file,
      options,
      boundary: boundary && { directory: boundary.directory, admitted: admits(boundary, file) },
    },
    env: {},
    execArgv: [],
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      void worker.terminate();
    };
    const fail = (fault: ErrorValue) => {
      end();
      reject(reviveError(fault));
    };
    const timer = setTimeout(() => fail(TOO_LARGE), THREAD_MS);
    worker.on('message', (answer: ThreadAnswer) => {
      if ('fault' in answer) return fail(answer.fault);
      end();
      resolve(answer.packed);
    });
    worker.on('error', () => fail(TOO_LARGE)).on('exit', () => fail(TOO_LARGE));
  });
}

// Files that a document refers to are in its folder, so that nothing else can be outside.
function admits(boundary: Boundary, file: string): boolean {
  const directory = realPath(boundary.directory) ?? boundary.directory;
  const isInside = [file, dirname(file)].every((path) => isWithin(directory, realPath(path) ?? path));
  return !isInside && boundary.admits(file);
}
