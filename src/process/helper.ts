// The helper process of a server: starts its tools, because forking a large process blocks it, and ends them with it.

import type { World } from '../core/snapshot.js';
import { markHost } from './group.js';
import type { Connection } from './helper-connection.js';

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
  let current: Connection | undefined;
  let isStarting = false;
  let failed = 0;
  let isClosed = world.platform !== 'linux';
  let useHelper: typeof import('./spawn.js').useHelper | undefined;
  const onReady = async (connection: Connection): Promise<void> => {
    failed = 0;
    // Loaded by the first process.
    useHelper ??= (await import('./spawn.js')).useHelper;
    if (current === connection) useHelper(world, connection.run);
  };
  const forget = (): void => {
    current = undefined;
    useHelper?.(world, undefined);
  };
  // Loaded by the first start, because most commands have no helper.
  const begin = async (): Promise<void> => {
    const { connect } = await import('./helper-connection.js');
    isStarting = false;
    if (isClosed) return;
    const connection: Connection = connect(
      entry(),
      world,
      {
        onReady: () => void onReady(connection),
        onEnd: () => {
          if (current === connection) forget();
        },
      },
      failed === 1,
    );
    current = connection;
  };
  return {
    start() {
      if (isClosed || isStarting || current !== undefined || failed >= MAX_FAILED) return;
      failed++;
      isStarting = true;
      markHost(world.platform);
      begin().catch((error: Error) => world.debug(`the helper process was not started: ${error.message}`));
    },
    close() {
      isClosed = true;
      current?.close();
      forget();
    },
  };
}
