// Pages of lists, with positions as cursors.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

// Clients that do not follow cursors see only the first page.
const PAGE_SIZE = 1000;

/** Returns the part of a list that a cursor selects, and the cursor of the next one. Throws for an invalid cursor. */
export function pageOf(
  cursor: string | undefined,
  length: number,
): { readonly from: number; readonly to: number; readonly nextCursor: string | undefined } {
  const from = cursor === undefined ? 0 : Number(/^from:(\d{1,9})$/.exec(cursor)?.[1] ?? Number.NaN);
  if (Number.isNaN(from) || (from > 0 && from >= length))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'invalid cursor; list again without one');
  const to = Math.min(from + PAGE_SIZE, length);
  return { from, to, nextCursor: to < length ? `from:${to}` : undefined };
}
