// Reads a document whole: here if it is small, else in a thread, so that nothing else has to wait.

import { dirname } from 'node:path';
import { isToolError, type ToolError } from '../../core/error.js';
import type { FileState } from '../../core/format.js';
import type { Boundary } from '../../core/origin.js';
import { isWithin, realPath } from '../../files/within.js';
import { findEntry } from '../../process/entry.js';
import { createLimits, documentFault, openDocument, type ReadLimits, toFinding } from './document.js';
import { type OperationOptions, type ReadOperations, readOperations } from './operations.js';

export interface PrepareOptions extends OperationOptions {
  readonly boundary?: Boundary | undefined;
}

/** What a document offers. */
export interface Prepared extends ReadOperations {
  /** The files that were read, with their states; the first is the document itself. None if it cannot be used. */
  readonly files: readonly (readonly [path: string, state: FileState])[];
}

// Reading these takes less than 50 ms.
const HERE = { bytes: 48 * 1024, values: 10_000 };
const THREAD_MS = 180_000;
const MEMORY_MB = 1024;
export const THREAD_ENTRY = 'openapi/thread.cjs';

/** Says which readings have the same result while the files do not change. */
export function keyOf(file: string, { name, settings, boundary }: PrepareOptions): string {
  const { position: _, ...used } = settings;
  return JSON.stringify([file, name, used, boundary?.directory]);
}

/** Reads a document. One that cannot be used has no operations, and its only finding says why. */
export function prepare(
  file: string,
  options: PrepareOptions,
  limits: ReadLimits,
  onRead?: (path: string, bytes: Buffer) => void,
): Prepared {
  try {
    const document = openDocument(file, options.boundary, limits, onRead);
    return { ...readOperations(document, limits, options), files: [...document.files] };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return toUnusable(error);
  }
}

function toUnusable(fault: ToolError): Prepared {
  return { drafts: [], findings: [toFinding(fault)], files: [], names: [] };
}

/** Reads a document, or returns undefined if it is too large to be read here. */
export function prepareHere(file: string, options: PrepareOptions): Prepared | undefined {
  const limits = createLimits(HERE);
  const prepared = prepare(file, options, limits);
  return limits.isExceeded ? undefined : prepared;
}

/** Reads a document in a thread. Returns it packed, unless it cannot be used. */
export function packInThread(file: string, { boundary, ...options }: PrepareOptions): Promise<string | Prepared> {
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
  return new Promise((resolve) => {
    const end = (answer: string | Prepared = toUnusable(tooLarge())): void => {
      clearTimeout(timer);
      void worker.terminate();
      resolve(answer);
    };
    const timer = setTimeout(end, THREAD_MS);
    worker.on('message', end);
    for (const event of ['error', 'exit']) worker.on(event, () => end());
  });
}

function tooLarge(): ToolError {
  return documentFault(
    `is too large: reading it takes over ${THREAD_MS / 60_000} minutes, or over ${MEMORY_MB / 1024} GB of memory`,
    'keep the operations that you need; JSON needs less than YAML',
  );
}

// Files that a document refers to are in its folder, so that nothing else can be outside.
function admits(boundary: Boundary, file: string): boolean {
  const directory = realPath(boundary.directory) ?? boundary.directory;
  const isInside = [file, dirname(file)].every((path) => isWithin(directory, realPath(path) ?? path));
  return !isInside && boundary.admits(file);
}
