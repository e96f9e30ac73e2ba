// Cancellations over HTTP in the older protocol version, where messages of a session can overtake each other.

import type { RequestId } from './message.js';

// Ids that are remembered of each kind.
const MAX_IDS = 1000;

export interface Cancellations {
  /** Remembers a request; returns whether it was cancelled before it arrived. */
  received(id: RequestId): boolean;
  /** Remembers the cancellation of a request that has not arrived yet. */
  cancelled(id: RequestId): void;
}

export function createCancellations(): Cancellations {
  // The next one replaces the oldest: every request is remembered, few are cancelled.
  const received: RequestId[] = [];
  let requests = 0;
  const cancelled = new Set<RequestId>();
  return {
    received(id) {
      received[requests++ % MAX_IDS] = id;
      return cancelled.delete(id);
    },
    cancelled(id) {
      if (received.includes(id)) return;
      cancelled.add(id);
      if (cancelled.size > MAX_IDS) cancelled.delete(cancelled.values().next().value!);
    },
  };
}
