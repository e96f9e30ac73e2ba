// Reports a start of a server that takes long, so that clients do not give up (UPS-113).

import type { Progress } from '../../core/context.js';
import type { ServerEntry } from '../../core/upstream.js';
import { runnerOf } from '../entries/package-runner.js';

// How often a client is told that a server is starting.
const PROGRESS_MS = 2000;

/** Runs work that may start a server, and reports progress until it is done. */
export async function reportStart<T>(
  server: ServerEntry,
  onProgress: ((progress: Progress) => void) | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (onProgress === undefined) return work();
  const runner = runnerOf(server);
  const message = `the server ${server.name} is starting${runner === undefined ? '' : ` (${runner} installs it)`}`;
  const timer = setInterval(() => onProgress({ message }), PROGRESS_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
