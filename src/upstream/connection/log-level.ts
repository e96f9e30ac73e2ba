// Asks servers for the log messages that clients want: per request in the newer protocol version, per connection in the older.

import type { JsonObject } from '../../core/json.js';
import type { RemoteCall } from './call.js';
import type { Lane } from './lane.js';

const TIMEOUT_MS = 5000;
// What is asked for by default. In the older version this is for all clients: what one does not want is not sent to it.
const DEFAULT = 'info';

export interface LogLevels {
  /** Returns the level of a request; undefined if the server has no log or the caller wants none. */
  levelOf(call: RemoteCall): string | undefined;
  /** Sets the level of the connection, if a client said which one it wants. Never throws. */
  prepare(call: RemoteCall): Promise<void> | undefined;
}

export function createLogLevels(lane: Lane, capabilities: JsonObject, isModern: boolean): LogLevels {
  let current: string | undefined;
  const hasLog = capabilities.logging !== undefined;
  const toLevel = (level: string | undefined): string => (level === 'debug' ? level : DEFAULT);
  return {
    levelOf: ({ onLog, logLevel }) => (hasLog && isModern && onLog !== undefined ? (logLevel ?? DEFAULT) : undefined),
    prepare({ onLog, logLevel }) {
      const isAsked = hasLog && !isModern && onLog !== undefined && logLevel !== undefined;
      const level = toLevel(logLevel);
      if (!isAsked || current === level || current === 'debug') return undefined;
      current = level;
      return lane.request('logging/setLevel', { level }, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
        () => {},
        // A server that refuses sends what it likes.
        () => {},
      );
    },
  };
}
