// The helper process of a server: starts its tools, because forking a large process blocks it, and ends them with it.

import type { World } from '../core/snapshot.js';
import { markHost } from './group.js';
import { type Connection, connect } from './helper-connection.js';

export interface ProcessHelper {
  /** Starts the helper, if it is not running. Once it is ready, it starts the processes of its world. */
  start(): void;
  close(): void;
}

export interface HelperOptions {
  readonly world: World;
  /** Returns the path of the program. */
  readonly entry: () => string;
}

// Starts that never became ready; after that many, processes are started here.
const MAX_FAILED = 3;

/** Creates a helper that is not started yet. Linux only, where a process can read the descriptors of another. */
export function createHelper({ world, entry }: HelperOptions): ProcessHelper {
  let current: Promise<Connection> | undefined;
  let failed = 0;
  let isClosed = world.platform !== 'linux';
  const begin = async (): Promise<Connection> => {
    const onReady = (): void => {
      failed = 0;
    };
    const onEnd = (): void => {
      current = undefined;
    };
    return connect(entry(), world, { onReady, onEnd }, failed === 1);
  };
  return {
    start() {
      if (isClosed || current !== undefined || failed >= MAX_FAILED) return;
      failed++;
      markHost(world.platform);
      current = begin();
      current.catch((error: Error) => {
        current = undefined;
        world.debug(`the helper process was not started: ${error.message}`);
      });
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
