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
  const received = new Set<RequestId>();
  const cancelled = new Set<RequestId>();
  return {
    received(id) {
      add(received, id);
      return cancelled.delete(id);
    },
    cancelled(id) {
      if (!received.has(id)) add(cancelled, id);
    },
  };
}

function add(ids: Set<RequestId>, id: RequestId): void {
  ids.add(id);
  if (ids.size > MAX_IDS) ids.delete(ids.values().next().value!);
}
