// Asks servers for their tools: each once for all who wait, and no longer than whoever looks has patience.

import { settlesWithin } from '../../core/settles-within.js';
import type { Snapshot } from '../../core/snapshot.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { World } from '../../core/world.js';

export interface AskingOptions {
  readonly configurationOf: (server: ServerEntry) => string;
  /** Starts a server for its tools. */
  readonly ask: (server: ServerEntry, snapshot: Snapshot) => Promise<unknown>;
  /** Told which servers someone waits for, each time one of them has answered; none when the wait is over. */
  readonly onWait?: (servers: readonly string[]) => void;
  readonly world: World;
}

interface Ask {
  readonly since: number;
  readonly over: Promise<unknown>;
}

/** Waits for servers, each for the given time from when it was first asked; undefined where none has time left. */
export type Asking = (
  servers: readonly ServerEntry[],
  snapshot: Snapshot,
  patienceMs: number,
) => Promise<unknown> | undefined;

export function createAsking({ configurationOf, ask, onWait, world }: AskingOptions): Asking {
  const asks = new Map<string, Ask>();

  const askOnce = (server: ServerEntry, snapshot: Snapshot): Ask => {
    const configuration = configurationOf(server);
    let asking = asks.get(configuration);
    if (asking === undefined) {
      const over = ask(server, snapshot)
        .catch((error: unknown) => world.debug(`${server.name}: ${String(error)}`))
        .finally(() => asks.delete(configuration));
      asking = { since: world.monotonic(), over };
      asks.set(configuration, asking);
    }
    return asking;
  };

  return (servers, snapshot, patienceMs) => {
    const waits = servers
      .map((server) => ({ name: server.name, ...askOnce(server, snapshot) }))
      .map(({ name, since, over }) => ({ name, over, left: since + patienceMs - world.monotonic() }))
      .filter(({ left }) => left > 0);
    if (waits.length === 0) return undefined;
    const all = Promise.all(waits.map(({ over }) => over));
    const wait = settlesWithin(all, Math.max(...waits.map(({ left }) => left)));
    return onWait === undefined ? wait : tellWait(waits, wait, onWait);
  };
}

async function tellWait(
  waits: readonly { readonly name: string; readonly over: Promise<unknown> }[],
  wait: Promise<unknown>,
  onWait: (servers: readonly string[]) => void,
): Promise<void> {
  const names = new Set(waits.map(({ name }) => name));
  onWait([...names]);
  for (const { name, over } of waits) void over.then(() => names.delete(name) && onWait([...names]));
  await wait;
  if (names.size === 0) return;
  names.clear();
  onWait([]);
}
