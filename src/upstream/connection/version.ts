// The protocol version of a server: negotiated once, then reused for later connections.

import { isRecord, type Json } from '../../core/json.js';
import type { Client } from '../sdk.js';

/** The result of version negotiation, in the form that the SDK accepts as `prior`. */
export type NegotiatedVersion = { readonly kind: 'legacy' } | { readonly kind: 'modern'; readonly discover: Json };

export function negotiatedVersionOf(client: Client): NegotiatedVersion {
  const discover = client.getDiscoverResult();
  return client.getProtocolEra() === 'modern' && discover !== undefined
    ? { kind: 'modern', discover: discover as unknown as Json }
    : { kind: 'legacy' };
}

/**
 * Throws unless a result has the `resultType` of the newer protocol version. Some older servers answer without an
 * `initialize`, but would never receive answers to their requests.
 */
export function assertModernResult(result: unknown): void {
  if (!isRecord(result) || typeof result.resultType !== 'string')
    throw new Error('the server uses an older protocol version than before');
}
