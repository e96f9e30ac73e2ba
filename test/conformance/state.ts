// The shared test suite of the state of calls: what one toolbox stores, another one finds.

import { describe, expect } from 'vitest';
import type { ApprovalRecord } from '../../src/core/approval.js';
import type { Json } from '../../src/core/json.js';
import type { Plan } from '../../src/core/plan.js';
import { DEFAULT_SETTINGS } from '../../src/core/settings.js';
import type { Tool } from '../../src/core/tool.js';
import { idOf, toRecord } from '../../src/policy/binding.js';
import type { State } from '../../src/state/files.js';
import { patience } from '../support/patience.js';
import { specIf } from '../support/spec.js';

export interface StateSuite {
  readonly name: string;
  /** Whether this machine can run it, and why not. */
  readonly condition: boolean;
  readonly reason: string;
  /** Opens the state of two toolboxes that share it. */
  readonly open: () => Promise<readonly [State, State]>;
}

const PATIENCE = { timeout: patience(30_000) };
const LIMITS = { keepMs: 3_600_000, totalBytes: 64 * 1024 * 1024 };

function toolOf(description: string, name = 'fetch'): Tool {
  return {
    name,
    description,
    origin: {
      uri: `mcp:web/${name}`,
      digest: `digest of ${description}`,
      owner: 'upstream',
      source: 'web',
      server: 'web',
    },
    input: { json: { type: 'object' } },
    action: { kind: 'function' },
    traits: { tags: [], examples: [] },
  } as unknown as Tool;
}

export function recordOf(input: Json, key: string, now: number): ApprovalRecord {
  const tool = toolOf('Fetch.');
  const plan = { kind: 'process', tool, input, launcher: [], binary: '/bin/x', argv: ['x'], environment: {} };
  const verdict = { verdict: 'ask' as const, rule: null, reason: 'a rule asks first' };
  const caller = { kind: 'model' as const, door: 'mcp', name: 'ada' };
  return toRecord({
    plan: plan as unknown as Plan,
    caller,
    verdict,
    workdir: '/w',
    programs: [],
    key,
    secrets: [],
    now,
  });
}

export function describeState({ name, condition, reason, open }: StateSuite): void {
  const test = (ids: string, title: string, body: () => Promise<void>): void =>
    specIf(condition, reason, ids, title, body);

  describe(`state in ${name}`, () => {
    test(
      'FLT-60 FLT-61',
      'an approval that one toolbox asks for is given at another and used once by one of both',
      async () => {
        const [one, two] = await open();
        const [mine, theirs] = [one.approvals, two.approvals];
        expect(mine.key()).toBe(theirs.key());
        const record = recordOf({ page: 1 }, mine.key(), Date.now());
        await mine.ask(record);
        expect(await mine.take(record)).toBeUndefined();
        expect((await theirs.list()).map(({ id, state }) => [id, state])).toEqual([[idOf(record), 'pending']]);
        await theirs.approve(idOf(record), false);
        const takes = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? mine : theirs).take(record));
        const taken = (await Promise.all(takes)).filter((consent) => consent !== undefined);
        expect(taken).toEqual([{ id: idOf(record), by: 'record', at: expect.any(String) }]);
        expect(await theirs.changes(recordOf({ page: 2 }, mine.key(), Date.now()))).toMatchObject({
          lines: expect.arrayContaining([expect.stringContaining('2')]),
        });
        const refused = recordOf({ page: 3 }, mine.key(), Date.now());
        await mine.ask(refused);
        await theirs.deny(idOf(refused));
        await expect((async () => mine.ask(refused))()).rejects.toMatchObject({ code: 'denied' });
        await theirs.always(record);
        expect(await mine.take(recordOf({ page: 4 }, mine.key(), Date.now()))).toMatchObject({ by: 'standing' });
        await expect((async () => mine.find('0000000000000000'))()).rejects.toMatchObject({ code: 'not_found' });
      },
    );

    test('FLT-60', 'a definition that one toolbox pins is compared at another', async () => {
      const [one, two] = await open();
      expect(one.pins.check(toolOf('Read.'))).toBe('new');
      await one.pins.pin([toolOf('Read.')], new Date());
      expect(one.pins.check(toolOf('Read.'))).toBe('same');
      await expect.poll(() => two.pins.check(toolOf('Read.')) === 'same', PATIENCE).toBe(true);
      expect(two.pins.check(toolOf('Read, and send it on.'))).toMatchObject({
        diff: expect.arrayContaining([expect.stringContaining('send it on')]),
      });
      await two.pins.pin([toolOf('Read, and send it on.')], new Date());
      await expect.poll(() => one.pins.check(toolOf('Read, and send it on.')) === 'same', PATIENCE).toBe(true);
      expect(one.pins.approved(toolOf('Read.'))).toMatchObject({ description: 'Read, and send it on.' });
    });

    test('FLT-60', 'a result that one toolbox stores is read at another, by its session only', async () => {
      const [one, two] = await open();
      const bytes = Buffer.from(Uint8Array.from({ length: 2_500_000 }, (_, at) => (at * 7) % 251));
      const writer = one.results.create('mine', LIMITS);
      writer.write(bytes.subarray(0, 1_300_000));
      writer.write(bytes.subarray(1_300_000));
      const { handle } = writer.finish();
      await one.results.share?.();
      expect(await two.results.open(handle.id, 'another')).toBeUndefined();
      const opened = await Promise.all([two.results.open(handle.id, 'mine'), two.results.open(handle.id, 'mine')]);
      for (const result of opened) {
        expect(result!.handle).toEqual(handle);
        expect(Buffer.from(result!.read(0, bytes.length)).equals(bytes)).toBe(true);
        result!.close();
      }
      expect(await two.results.open(`r_${'A'.repeat(22)}`, 'mine')).toBeUndefined();
    });

    test('FLT-60', 'a tool list that one toolbox gets from a server is known to another', async () => {
      const [one, two] = await open();
      one.listings.save('0123', { at: 1, version: { kind: 'legacy' }, faults: [], tools: [] });
      await expect.poll(() => two.listings.load('0123') !== undefined, PATIENCE).toBe(true);
      expect(two.listings.load('0123')).toMatchObject({ at: 1, tools: [] });
    });

    test('FLT-62', 'a limit of a tool counts the calls of both', async () => {
      const [one, two] = await open();
      const limits = { ...DEFAULT_SETTINGS.limits, concurrentPerTool: 2 };
      const acquire = (state: State) => state.limiter.acquire(toolOf('Read.'), limits, new AbortController(), false);
      const slots = [await acquire(one), await acquire(one)];
      let entered = false;
      const third = acquire(name === 'files' ? one : two).then((slot) => {
        entered = true;
        return slot;
      });
      // Long enough for two attempts to enter.
      await new Promise((resolve) => setTimeout(resolve, 250));
      expect(entered).toBe(false);
      slots[0]!.release();
      slots[0]!.release();
      (await third).release();
      slots[1]!.release();
      // A tool without a limit of its own needs no slot of the others.
      const free = await two.limiter.acquire(toolOf('Read.'), DEFAULT_SETTINGS.limits, new AbortController(), false);
      free.release();
    });
  });
}
