// Cancellations over HTTP in the older protocol version, where messages of a session can overtake each other.

import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { isRecord } from '../core/json.js';

const METHOD = 'notifications/cancelled';
// Ids that are remembered of each kind.
const MAX_IDS = 1000;

/**
 * Returns a function that is called with every message of a session after the SDK has received it. It cancels requests
 * that arrive after their cancellation, and ends the response of a cancelled request, which the SDK leaves open.
 */
export function trackCancellations(transport: WebStandardStreamableHTTPServerTransport): (message: unknown) => void {
  const received = new Set<unknown>();
  const cancelled = new Set<unknown>();
  return (message) => {
    if (!isRecord(message) || typeof message.method !== 'string') return;
    if (message.method === METHOD) {
      const requestId = isRecord(message.params) ? message.params.requestId : undefined;
      if (!isId(requestId)) return;
      if (!received.has(requestId)) add(cancelled, requestId);
      transport.closeSSEStream(requestId);
    } else if (isId(message.id)) {
      add(received, message.id);
      if (!cancelled.delete(message.id)) return;
      transport.onmessage?.({ jsonrpc: '2.0', method: METHOD, params: { requestId: message.id } });
      transport.closeSSEStream(message.id);
    }
  };
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function add(ids: Set<unknown>, id: unknown): void {
  ids.add(id);
  if (ids.size > MAX_IDS) ids.delete(ids.values().next().value);
}
