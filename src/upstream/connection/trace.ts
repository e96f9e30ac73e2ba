// Trace context in `_meta` of requests to servers.

import type { TraceParent } from '../../core/caller.js';

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;
// The limits of W3C Trace Context and Baggage.
const MAX_STATE = 512;
const MAX_BAGGAGE = 8192;
const PRINTABLE = /^[\u0020-\u007e]*$/;

/** Returns the fields of `_meta`; what is not valid is omitted, all of it without a valid `traceparent`. */
export function toTraceMeta({ traceparent, tracestate, baggage }: TraceParent): Readonly<Record<string, string>> {
  if (!TRACEPARENT.test(traceparent)) return {};
  return {
    traceparent,
    ...(isValid(tracestate, MAX_STATE) ? { tracestate } : {}),
    ...(isValid(baggage, MAX_BAGGAGE) ? { baggage } : {}),
  };
}

function isValid(text: string | undefined, limit: number): text is string {
  return text !== undefined && text.length <= limit && PRINTABLE.test(text);
}
