// The transport to an upstream server, with what is known about a process behind it.

import type { Transport } from '../sdk.js';

/** How a server process ended. */
export interface ServerExit {
  readonly reason: string;
  /** The last lines of its output. */
  readonly lastLines: readonly string[];
}

export interface UpstreamTransport extends Transport {
  /** Writes a serialized message; only if all messages share one stream, as with stdio. */
  write?(message: string): void;
  readonly exit?: ServerExit | undefined;
  readonly lastLines?: readonly string[];
}
