// Delays between attempts to start a server that failed.

import { ToolError } from '../../core/error.js';
import type { World } from '../../core/snapshot.js';
import { formatDuration } from '../../core/text.js';
import type { ServerEntry } from '../../core/upstream.js';

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 60_000;

interface FailureRecord {
  readonly count: number;
  /** Monotonic time of the next attempt. */
  readonly until: number;
  readonly error: ToolError;
}

export function createBackoff(world: World) {
  const records = new Map<string, FailureRecord>();
  return {
    /** Records a failure. A server that had been running is restarted without delay the first time. */
    record(key: string, error: ToolError, wasRunning: boolean): void {
      const count = (records.get(key)?.count ?? 0) + 1;
      const delay = wasRunning && count === 1 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (count - 1), MAX_DELAY_MS);
      records.set(key, { count, until: world.monotonic() + delay, error });
    },
    clear: (key: string): unknown => records.delete(key),
    /** Throws the last error while the delay has not passed. */
    assertReady(key: string, { name }: ServerEntry): void {
      const record = records.get(key);
      const delay = record === undefined ? 0 : record.until - world.monotonic();
      if (delay <= 0) return;
      const { message, data } = record!.error;
      const shown = formatDuration(Math.ceil(delay / 1000) * 1000);
      throw new ToolError('unavailable', message, {
        hint: `retried in ${shown}; to retry now: wield mcp refresh ${name}`,
        data,
        cause: record!.error,
      });
    },
  };
}
