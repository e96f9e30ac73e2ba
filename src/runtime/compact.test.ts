// Tests of tables in place of JSON: whatever the value, nothing is lost.

import { decode } from '@toon-format/toon';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { rounds, SEED } from '../../test/support/effort.js';
import { patience } from '../../test/support/patience.js';
import { spec } from '../../test/support/spec.js';
import { toTable } from './compact.js';

const ROWS = [
  { id: 1, name: 'Ada', day: '2026-06-01', paid: true },
  { id: 2, name: 'Grace, "the" second', day: '2026-06-02', paid: null },
];
const json = (value: unknown, space?: number): string => JSON.stringify(value, null, space);

// Texts that other notations read as something else.
const ODD = [
  '',
  ' ',
  'true',
  'null',
  '1',
  '-0',
  '1e5',
  '- a',
  '[2]',
  'a,b',
  'a: b',
  '"',
  '\\',
  '\n',
  '\u2028',
  '#',
  '{}',
];
const text = fc.oneof(
  fc.constantFrom(...ODD),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ maxLength: 8 }),
);
const simple = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
const name = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'length', '10', '2', 'a.b', 'id'));
const table = fc
  .uniqueArray(name, { minLength: 1, maxLength: 4 })
  .chain((names) =>
    fc
      .array(fc.tuple(...names.map(() => simple)), { minLength: 2, maxLength: 5 })
      .map((rows) => rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at]!, value])))),
  );
const value = fc.oneof(
  table,
  fc.dictionary(name, fc.oneof(table, simple), { maxKeys: 3 }),
  fc.array(fc.oneof(table, fc.dictionary(name, table, { maxKeys: 2 }), simple), { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 4 }),
);

describe('toTable', () => {
  const loseNothing = async (): Promise<void> => {
    let used = 0;
    const property = fc.asyncProperty(value, fc.constantFrom(0, 1, 2), async (given, space) => {
      const written = json(given, space);
      const shown = await toTable(written);
      if (shown === undefined) return;
      used++;
      expect(shown.length).toBeLessThanOrEqual(written.length * 0.85);
      expect(json(decode(shown))).toBe(json(JSON.parse(written)));
    });
    await fc.assert(property, { numRuns: rounds(1000, 1_000_000), seed: SEED });
    expect(used).toBeGreaterThan(50);
  };
  spec('CTX-52', 'loses nothing, or is not used', loseNothing, patience(rounds(20_000, 1_800_000)));

  spec('CTX-52', 'shows uniform arrays wherever they are, in any spelling of JSON', async () => {
    expect(await toTable(json(ROWS))).toBe(
      '[2]{id,name,day,paid}:\n  1,Ada,2026-06-01,true\n  2,"Grace, \\"the\\" second",2026-06-02,null',
    );
    expect(await toTable(json({ total: 2, orders: ROWS }, 2))).toContain('orders[2]{id,name,day,paid}:');
    const spelled = '[{"n": 1.0, "city": "Z\\u00fcrich"}, {"n": 2.0, "city": "Gen\\u00e8ve"}]';
    expect(await toTable(spelled)).toBe('[2]{n,city}:\n  1,Zürich\n  2,Genève');
  });

  spec('CTX-52', 'leaves everything else as it is', async () => {
    const large = '12345678901234567890';
    const others = [
      'plain text',
      json({ a: 1, b: [1, 2, 3] }),
      json([{ a: 1 }, { b: 2 }]),
      json([{ a: [1] }, { a: [2] }]),
      json([{ a: 1 }]),
      // What reading would change.
      `[{"number":${large},"some_name":1},{"number":${large},"some_name":2}]`,
      '[{"name":1,"name":2,"other_name":3},{"name":1,"name":2,"other_name":3}]',
      '[{"10":1,"2":1},{"10":2,"2":2}]',
      `${json(ROWS)} and more`,
      json(Array.from({ length: 5000 }, (_, id) => ({ id, text: 'x'.repeat(20) }))),
    ];
    for (const written of others)
      expect([written.slice(0, 40), await toTable(written)]).toEqual([written.slice(0, 40), undefined]);
  });
});
