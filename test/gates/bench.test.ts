// Gate: benchmark rows still run, with one round and small sizes; in `npm run gates`.

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../support/documents.js';
import { SAMPLED, sample } from '../support/effort.js';
import { hasRedis } from '../support/redis.js';
import { testThorough } from '../support/spec.js';

interface Row {
  readonly row: string;
  readonly cases: readonly { readonly case: string; readonly value?: { readonly median: number } }[];
}

// Row fleet needs redis-server.
const ids = readdirSync(join(ROOT, 'bench/rows'))
  .map((file) => file.replace(/^0?(\d+)-.*|\.mjs$/g, '$1'))
  .filter((id) => hasRedis || id !== 'fleet');

testThorough(`each row of bench/ measures something${SAMPLED}`, () => {
  const wanted = sample(ids, 8);
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
