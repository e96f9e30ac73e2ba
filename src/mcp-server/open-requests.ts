// Counts the requests of a transport that have no response yet.

import { isJSONRPCRequest, isJSONRPCResponse, type RequestId, type Transport } from '@modelcontextprotocol/server';
import { isRecord } from '../core/json.js';

/** Observes a connected transport. */
export function trackRequests(transport: Transport): { readonly isBusy: () => boolean } {
  const open = new Set<RequestId>();
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  transport.onmessage = (message, extra) => {
    if (isJSONRPCRequest(message)) open.add(message.id);
    else if ('method' in message && message.method === 'notifications/cancelled' && isRecord(message.params))
      open.delete(message.params.requestId as RequestId);
    onmessage?.(message, extra);
  };
  transport.send = (message, options) => {
    if (isJSONRPCResponse(message) && message.id !== undefined) open.delete(message.id);
    return send(message, options);
  };
  return { isBusy: () => open.size > 0 };
}
