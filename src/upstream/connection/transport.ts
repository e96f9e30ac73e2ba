// The transport to an upstream server, with what is known about a process behind it.

import type { Transport } from '../sdk.js';

/** How a server process ended. */
export interface ServerExit {
  readonly reason: string;
  /** The last lines of its output. */
  readonly lastLines: readonly string[];
}

/** With `hasPerRequestStream`, each request has a response of its own, as over HTTP; otherwise all share one stream. */
export interface UpstreamTransport extends Transport {
  readonly exit?: ServerExit | undefined;
  readonly lastLines?: readonly string[];
}
