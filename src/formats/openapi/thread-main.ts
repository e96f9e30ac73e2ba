// The thread that reads a large document.

import { parentPort, workerData } from 'node:worker_threads';
import { digestBytes } from '../../files/digest.js';
import { pack } from './cache.js';
import { createLimits } from './document.js';
import type { OperationOptions } from './operations.js';
import { prepare } from './prepare.js';

interface Task {
  readonly file: string;
  readonly options: OperationOptions;
  readonly boundary?: { readonly directory: string; readonly admitted: boolean };
}

const { file, options, boundary } = workerData as Task;
const within = boundary && { directory: boundary.directory, admits: () => boundary.admitted };
const digests: Record<string, string> = {};
const prepared = prepare(file, { ...options, boundary: within }, createLimits(), (path, bytes) => {
  digests[path] = digestBytes(bytes);
});
parentPort!.postMessage(prepared.files.length === 0 ? prepared : pack(prepared, digests));
