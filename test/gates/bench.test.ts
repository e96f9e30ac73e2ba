// Checks that benchmark rows still run, with one round and small sizes: a third of them in `npm test`.

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/documents.js';
import { ALL_TESTS, SAMPLED, sample } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { hasRedis } from '../support/redis.js';

interface Row {
  readonly row: string;
  readonly cases: readonly { readonly case: string; readonly value?: { readonly median: number } }[];
}

// Row fleet needs redis-server.
const ids = readdirSync(join(ROOT, 'bench/rows'))
  .map((file) => file.replace(/^0?(\d+)-.*|\.mjs$/g, '$1'))
  .filter((id) => hasRedis || id !== 'fleet');

test(`each row of bench/ measures something${SAMPLED}`, { timeout: patience(300_000) }, () => {
  const wanted = sample(ids, ALL_TESTS ? 8 : 5);
  const printed = execFileSync(process.execPath, ['bench/run.mjs', '--quick', ...wanted], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const rows: readonly Row[] = JSON.parse(printed);
  expect(rows.map(({ row }) => row).sort()).toEqual([...wanted].sort());
  for (const { row, cases } of rows) {
    const values = cases.flatMap(({ value }) => (value === undefined ? [] : [value.median]));
    expect(values.length, `row ${row}`).toBeGreaterThan(1);
    expect(values.every(Number.isFinite), `row ${row}: ${values}`).toBe(true);
  }
});
