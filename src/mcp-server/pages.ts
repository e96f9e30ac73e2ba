// The pages of `tools/list`: which tools are on one, and their bytes for each protocol version.

import { createTurns } from '../core/async.js';
import { ERROR, META, RpcError } from '../net/mcp.js';
import type { Listing, LiveListing } from './listing.js';
import { projectOutputSchema } from './result.js';

/** How long clients may cache a result. */
export interface CacheHint {
  readonly ttlMs: number;
  readonly cacheScope: 'private';
}

/** Of lists, for clients that have no subscription. */
export const CACHE_HINT: CacheHint = { ttlMs: 5000, cacheScope: 'private' };

// Clients that do not follow cursors see only the first page.
const PAGE_SIZE = 1000;

/** Throws a `RpcError` if the cursor is not one of this listing. */
export function pageAt(cursor: string | undefined, length: number) {
  const from = cursor === undefined ? 0 : Number(/^from:(\d{1,9})$/.exec(cursor)?.[1] ?? Number.NaN);
  if (Number.isNaN(from) || (from > 0 && from >= length))
    throw new RpcError(ERROR.invalidParams, 'invalid cursor; list again without one');
  const to = Math.min(from + PAGE_SIZE, length);
  return { from, to, nextCursor: to < length ? `from:${to}` : undefined };
}

/** Returns the page of a list that a cursor names, as the result of a request. */
export function toPage(member: string, all: readonly object[], cursor: string | undefined): object {
  const { from, to, nextCursor } = pageAt(cursor, all.length);
  return { [member]: all.slice(from, to), nextCursor };
}

/** Returns a function that reads the result of `tools/list` as JSON, for a client that may show MCP Apps. It throws a `RpcError`. */
export function createPageReader(info: object) {
  // Serialising 1,000 small tools takes 3 ms, writing the bytes 0.3 ms; a listing is replaced when the catalog, the rules or
  // the trust of the workspace change.
  const bytes = new WeakMap<Listing, Map<string, Promise<Buffer>>>();
  return async (
    listing: LiveListing,
    cursor: string | undefined,
    isNewer: boolean,
    withApps: boolean,
  ): Promise<Buffer> => {
    // All pages of a client come from one listing if possible.
    const listed = (cursor === undefined ? undefined : listing.newest) ?? (await listing.read());
    const tools = withApps ? listed.withApps : listed.tools;
    const page = pageAt(cursor, tools.length);
    const pages = bytes.get(listed) ?? new Map<string, Promise<Buffer>>();
    bytes.set(listed, pages);
    const key = `${page.from} ${isNewer} ${tools === listed.tools}`;
    const known = pages.get(key) ?? toBytes(tools, page, isNewer, info);
    // Cursors can name any position, but only those that a page announced are kept.
    if (page.from % PAGE_SIZE === 0) pages.set(key, known);
    return known;
  };
}

// Tool by tool, in turns: those of a large OpenAPI document have megabytes.
async function toBytes(
  tools: Listing['tools'],
  { from, to, nextCursor }: ReturnType<typeof pageAt>,
  isNewer: boolean,
  info: object,
): Promise<Buffer> {
  const rest = isNewer
    ? { nextCursor, resultType: 'complete', ...CACHE_HINT, _meta: { [META.server]: info } }
    : { nextCursor };
  const chunks: Buffer[] = [];
  const turn = createTurns();
  for (const tool of tools.slice(from, to)) {
    await turn();
    const shown =
      isNewer || tool.outputSchema === undefined
        ? tool
        : { ...tool, outputSchema: projectOutputSchema(tool.outputSchema) };
    chunks.push(Buffer.from((chunks.length === 0 ? '' : ',') + JSON.stringify(shown)));
  }
  const end = JSON.stringify(rest).slice(1);
  return Buffer.concat([Buffer.from('{"tools":['), ...chunks, Buffer.from(end === '}' ? ']}' : `],${end}`)]);
}
