// The helper process of a server: starts its tools, because forking a large process blocks it, and ends them with it.

import { deferred } from '../core/async.js';
import type { World } from '../core/snapshot.js';
import { settlesWithin } from '../core/time-limit.js';
import { findEntry } from './entry.js';
import { markHost } from './group.js';
import { type Connection, connect } from './helper-connection.js';

export interface ProcessHelper {
  /** Starts the helper, if it is not running. Once it is ready, it starts the processes of its world. */
  start(): void;
  /** Starts it too; resolves when it is ready, could not be started, or takes long. */
  ready(): Promise<void>;
  close(): void;
}

// Starts that never became ready; after that many, processes are started here.
const MAX_FAILED = 3;
const READY_MS = 3000;

/** Creates a helper that is not started yet. Linux only, where a process can read the descriptors of another. */
export function createHelper(world: World): ProcessHelper {
  let current: Promise<Connection> | undefined;
  let failed = 0;
  let isClosed = world.platform !== 'linux';
  let settled = deferred<void>();
  const onReady = (): void => {
    failed = 0;
    settled.resolve();
  };
  const onEnd = (): void => {
    current = undefined;
    settled.resolve();
  };
  const start = (): void => {
    if (isClosed || current !== undefined || failed >= MAX_FAILED) return;
    failed++;
    settled = deferred<void>();
    markHost(world.platform);
    current = connect(findEntry('helper/main.cjs'), world, { onReady, onEnd }, failed === 1);
    current.catch((error: Error) => {
      onEnd();
      world.debug(`the helper process was not started: ${error.message}`);
    });
  };
  return {
    start,
    async ready() {
      start();
      if (current !== undefined) await settlesWithin(settled.promise, READY_MS);
    },
    close() {
      isClosed = true;
      current?.then(
        (connection) => connection.close(),
        () => {},
      );
    },
  };
}
