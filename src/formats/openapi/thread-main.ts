// The thread that reads a large document.

import { parentPort, workerData } from 'node:worker_threads';
import { createLimits, DocumentFault } from './document.js';
import type { OperationOptions } from './operations.js';
import { pack } from './parts.js';
import { prepare, type ThreadAnswer } from './prepare.js';

interface Task {
  readonly file: string;
  readonly options: OperationOptions;
  readonly boundary?: { readonly directory: string; readonly admitted: boolean };
}

const { file, options, boundary } = workerData as Task;
const send = (answer: ThreadAnswer): void => parentPort!.postMessage(answer);
try {
  const within = boundary && { directory: boundary.directory, admits: () => boundary.admitted };
  const { drafts, ...prepared } = prepare(file, { ...options, boundary: within }, createLimits());
  const parts = [...pack(drafts)];
  send({ prepared, parts: parts.length });
  // One at a time, so that the other side does other things between them.
  parentPort!.on('message', () => send({ part: parts.shift()! }));
} catch (error) {
  if (!(error instanceof DocumentFault)) throw error;
  const { message, hint, line } = error;
  send({ fault: { message, hint, line } });
}
