// Checks that every benchmark row still runs, with one round and small sizes.

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/documents.js';
import { hasRedis } from '../support/redis.js';

interface Row {
  readonly row: string;
  readonly cases: readonly { readonly case: string; readonly value?: { readonly median: number } }[];
}

test('every row of bench/ measures something', { timeout: 180_000 }, () => {
  const printed = execFileSync(process.execPath, ['bench/run.mjs', '--quick'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const rows: readonly Row[] = JSON.parse(printed);
  // Row fleet needs redis-server.
  expect(rows).toHaveLength(readdirSync(join(ROOT, 'bench/rows')).length - (hasRedis ? 0 : 1));
  for (const { row, cases } of rows) {
    const values = cases.flatMap(({ value }) => (value === undefined ? [] : [value.median]));
    expect(values.length, `row ${row}`).toBeGreaterThan(1);
    expect(values.every(Number.isFinite), `row ${row}: ${values}`).toBe(true);
  }
});
