// Reads a document whole: here if it is small, else in a thread, so that nothing else has to wait.

import { dirname } from 'node:path';
import type { Boundary, FileState } from '../../core/format.js';
import { isWithin, realPath } from '../../files/within.js';
import { findEntry } from '../../process/entry.js';
import { createLimits, DocumentFault, openDocument, type ReadLimits } from './document.js';
import { namesIn, type OperationOptions, type ReadOperations, readOperations } from './operations.js';
import { type Part, unpack } from './parts.js';

/** What a document offers. */
export interface Prepared extends ReadOperations {
  /** The files that were read, with their states. */
  readonly files: readonly (readonly [path: string, state: FileState])[];
  /** Names of all operations, also of those that are not wanted. */
  readonly names: readonly string[];
}

export interface PrepareOptions extends OperationOptions {
  readonly boundary?: Boundary | undefined;
}

/** What the thread sends: first without drafts, then as many parts as it says. */
export type ThreadAnswer =
  | { readonly fault: Pick<DocumentFault, 'message' | 'hint' | 'line'> }
  | { readonly prepared: Omit<Prepared, 'drafts'>; readonly parts: number }
  | { readonly part: Part };

// Reading these takes less than 50 ms.
const HERE = { bytes: 48 * 1024, values: 10_000 };
const THREAD_MS = 180_000;
const MEMORY_MB = 4096;
const ENTRY = 'openapi/thread.cjs';
const TOO_LARGE = { message: 'is too large: reading it takes too much time or memory', hint: 'keep what you need' };

/** Reads a document. Throws DocumentFault. */
export function prepare(file: string, options: PrepareOptions, limits: ReadLimits): Prepared {
  const document = openDocument(file, options.boundary, limits);
  const found = readOperations(document, limits, options);
  return { ...found, files: [...document.files], names: [...namesIn(document)] };
}

/** Reads a document, or returns undefined if it is too large to be read here. Throws DocumentFault. */
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

/** Reads a document in a thread. Throws DocumentFault. */
export function prepareInThread(file: string, { boundary, ...options }: PrepareOptions): Promise<Prepared> {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const worker = new Worker(findEntry(ENTRY), {
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
    const fail = ({ message, hint, line }: Pick<DocumentFault, 'message' | 'hint'> & { line?: number | undefined }) => {
      end();
      reject(new DocumentFault(message, hint, line));
    };
    const timer = setTimeout(() => fail(TOO_LARGE), THREAD_MS);
    const receive = unpack();
    let found: { readonly prepared: Omit<Prepared, 'drafts'>; readonly parts: number } | undefined;
    worker.on('message', (answer: ThreadAnswer) => {
      if ('fault' in answer) return fail(answer.fault);
      if ('part' in answer) receive.add(answer.part);
      else found = answer;
      if (receive.count() < found!.parts) return worker.postMessage('next');
      end();
      resolve({ ...found!.prepared, drafts: receive.drafts() });
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
