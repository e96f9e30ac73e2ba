// Tests of pages: what they contain, and that large ones are built in turns of the event loop.

import { expect } from 'vitest';
import { spec } from '../../test/support/spec.js';
import type { JsonSchema } from '../core/schema.js';
import { createToolbox } from '../toolbox.js';
import { createListings } from './live-listing.js';
import { createPageReader } from './pages.js';

const createPages = (count: number, inputSchema: JsonSchema) => {
  const tools = Array.from({ length: count }, (_, at) => ({
    name: `t${String(at).padStart(4, '0')}`,
    description: 'x',
    inputSchema,
    execute: () => 'ok',
  }));
  const readPage = createPageReader({ name: 'wield' });
  const listing = createListings(createToolbox({ tools })).of(undefined);
  return {
    read: (cursor: string | undefined, isNewer: boolean, withApps: boolean) =>
      readPage(listing, cursor, isNewer, withApps),
  };
};

/** Counts the turns of the event loop until a promise is settled. */
async function countTurns(promise: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await promise;
  isDone = true;
  return turns;
}

spec('SRV-2', 'large pages are built in turns, once for all clients', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 1000 }, (_, at) => [`p${at}`, { description: 'x'.repeat(60) }]),
  );
  const pages = createPages(200, { type: 'object', properties });
  const first = pages.read(undefined, true, false);
  const [turns, other] = await Promise.all([countTurns(first), pages.read(undefined, true, false)]);
  expect(turns).toBeGreaterThan(4);
  expect(await first).toBe(other);
  expect(await countTurns(pages.read(undefined, true, false))).toBeLessThan(3);
});

spec('SRV-2', 'pages have their tools, a cursor, and what their version has', async () => {
  const pages = createPages(1500, { type: 'object', properties: {} });
  const read = async (cursor: string | undefined, isNewer: boolean) =>
    JSON.parse((await pages.read(cursor, isNewer, false)).toString('utf8'));
  const { tools, nextCursor, ...rest } = await read(undefined, true);
  expect([tools.length, tools[0].name, nextCursor]).toEqual([1000, 't0000', 'from:1000']);
  expect(rest).toMatchObject({ resultType: 'complete', ttlMs: 5000, cacheScope: 'private' });
  const last = await read(nextCursor, false);
  expect([last.tools.length, Object.keys(last)]).toEqual([500, ['tools']]);
  expect(await createPages(0, {}).read(undefined, false, false).then(String)).toBe('{"tools":[]}');
});

spec('SRV-2', 'a cursor that is not one of the listing is refused', async () => {
  const pages = createPages(3, { type: 'object' });
  for (const cursor of ['', '1', 'from:', 'from:3', 'from:x', 'from:1x', 'from:-1'])
    await expect(pages.read(cursor, true, false), cursor).rejects.toMatchObject({ code: -32602 });
});
