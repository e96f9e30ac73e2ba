// Compares the patched JSONata of queries with the original.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import jsonata from 'jsonata';
import { describe, expect } from 'vitest';
import type { NodeToolbox } from '../../../src/node.js';
import { CORPORA, NO_CORPORA } from '../../support/corpora.js';
import { rounds, SEED, THOROUGH } from '../../support/effort.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const RUNS = rounds(250, 8000);

// biome-ignore lint/suspicious/noExplicitAny: results of expressions have any type
type Loose = any;

interface Case {
  readonly group: string;
  readonly case: string;
  readonly expr: string;
  readonly dataset?: string | null;
  readonly data?: unknown;
  readonly result?: unknown;
  readonly undefinedResult?: boolean;
  readonly code?: string;
  readonly error?: { readonly code: string };
}

const FILE = resolve(CORPORA, 'jsonata/cases.jsonl');
const cases: Case[] = existsSync(FILE)
  ? readFileSync(FILE, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Case)
  : [];

// Cases that cannot be run unchanged, with the reason.
const OTHERWISE: Readonly<Record<string, string>> = {
  'function-trim/case002.json': 'has no document',
  'function-string/case022.json': 'has no document',
  'tail-recursion/case002.json': 'recursion is limited by the stack of the process, not by 302 levels',
  'tail-recursion/case005.json': 'ends as too_large on stack overflow',
  'tail-recursion/case006.json': 'ends as timeout',
};

const nameOf = (one: Case): string => `${one.group}/${one.case}`;

async function ask(toolbox: NodeToolbox, { dataset, data, expr }: Case): Promise<Loose> {
  const path = dataset ? `${dataset}.json` : 'document.json';
  if (!dataset) {
    const content = Buffer.from(JSON.stringify(data === undefined ? null : data));
    await toolbox.state.stores.documents.write(path, content, { overwrite: true });
  } else if ((await toolbox.state.stores.documents.versions(path)).length === 0) {
    await toolbox.state.stores.documents.write(path, readFileSync(resolve(CORPORA, 'jsonata/datasets', path)));
  }
  const { structured, error } = await toolbox.call('context_query', { path, expression: expr }, { full: true });
  return error === undefined ? structured : { error };
}

/** Returns the expected and the actual result if they differ. */
function findFault(one: Case, answer: Loose): readonly unknown[] | undefined {
  const code = one.code ?? one.error?.code;
  const found =
    code !== undefined
      ? answer.error?.data?.code
      : one.undefinedResult
        ? answer.result_type
        : (answer.error ?? answer.result);
  const wanted = code ?? (one.undefinedResult ? 'undefined' : one.result);
  return isDeepStrictEqual(found, wanted) ? undefined : [nameOf(one), wanted, found ?? answer];
}

specIf.thorough(
  cases.length > 0,
  NO_CORPORA,
  'CTX-30',
  `passes the published JSONata test cases through context_query (WIELD_SEED=${SEED})`,
  async () => {
    expect(cases.length).toBeGreaterThan(500);
    const all = cases.filter((one) => OTHERWISE[nameOf(one)] === undefined);
    expect(cases.length - all.length).toBe(Object.keys(OTHERWISE).length);
    // Each case starts a process, so only a tenth of each group runs by default.
    const left = all.filter((_, at) => THOROUGH || at % 10 === SEED % 10);
    const faults: unknown[] = [];
    // One store per worker, so that cases do not share documents.
    await Promise.all(
      Array.from({ length: 2 }, async () => {
        const toolbox = createWorkspace().toolbox();
        for (let one = left.pop(); one !== undefined; one = left.pop())
          faults.push(findFault(one, await ask(toolbox, one)));
      }),
    );
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  },
  300_000,
);

describe('compared with unmodified JSONata', () => {
  type Evaluator = typeof jsonata;

  async function loadOurs(): Promise<Evaluator> {
    const { toSynchronous, readJsonata } = await import(new URL('../../../scripts/jsonata.mjs', import.meta.url).href);
    const directory = mkdtempSync(join(tmpdir(), 'wield-jsonata-'));
    try {
      const file = join(directory, 'jsonata.cjs');
      writeFileSync(file, toSynchronous(readJsonata()));
      return createRequire(import.meta.url)(file) as Evaluator;
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  // JSON text preserves the order of keys, which is part of a result.
  async function evaluate(evaluator: Evaluator, expression: string, document: unknown): Promise<unknown> {
    try {
      const result = await evaluator(expression).evaluate(structuredClone(document));
      return JSON.stringify(result) ?? 'undefined';
    } catch (error) {
      const { code, position, token, message } = error as Loose;
      return { code, position, token, ...(code === undefined ? { message } : {}) };
    }
  }

  const name = fc.constantFrom('a', 'b', 'c', 'id', 'tags', 'missing', '__proto__', 'constructor');
  const scalar = fc.oneof(
    fc.integer({ min: -3, max: 5 }),
    fc.constantFrom('x', 'y', 'zz', '', '2026-05-31', '10'),
    fc.boolean(),
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -2, max: 2 }),
  );
  const { value } = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      tie('object'),
    ),
    object: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  }));
  const document = fc.oneof(
    value,
    fc.array(
      fc.record(
        { id: fc.nat(5), a: scalar, b: value, tags: fc.array(scalar, { maxLength: 3 }) },
        { requiredKeys: ['id'] },
      ),
      { maxLength: 8 },
    ),
  );

  const path = fc
    .array(
      fc.oneof(
        { weight: 5, arbitrary: name.map((one) => `\`${one}\``) },
        { weight: 1, arbitrary: fc.constantFrom('$', '*', '**', '%') },
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((steps) => steps.join('.'));
  const literal = fc.oneof(
    fc.integer({ min: -3, max: 5 }).map(String),
    fc.constantFrom('"x"', '"2026"', 'true', 'null', '[]', '[1,"a"]', '{}'),
  );
  const { expression } = fc.letrec<{ expression: string }>((tie) => {
    const one = tie('expression');
    const pair = fc.tuple(one, one);
    return {
      expression: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        path,
        literal,
        fc.tuple(path, one).map(([base, by]) => `${base}[${by}]`),
        fc.tuple(path, fc.integer({ min: -2, max: 2 })).map(([base, at]) => `${base}[${at}]`),
        pair.map(([base, step]) => `(${base}).(${step})`),
        fc.tuple(path, one, one).map(([base, key, of]) => `${base}{ $string(${key}): ${of} }`),
        fc.tuple(path, one, one).map(([base, key, of]) => `${base}.{ "k": ${key}, $string(${of}): ${of} }`),
        fc
          .tuple(path, fc.constantFrom('<', '>', ''), one, path)
          .map(([base, way, by, then]) => `${base}^(${way}${by}, ${then})`),
        fc.tuple(path, one).map(([base, by]) => `${base}^(${by})[[0..1]]`),
        fc.tuple(path, one).map(([base, by]) => `${base}#$i[$i < 2].{ "i": $i, "v": ${by} }`),
        fc.tuple(path, one).map(([base, by]) => `${base}@$v.($v & ${by})`),
        fc
          .tuple(one, fc.constantFrom('+', '-', '*', '&', '=', '!=', '<', '>=', 'and', 'or', 'in'), one)
          .map(([a, operator, b]) => `(${a} ${operator} ${b})`),
        fc
          .tuple(
            fc.constantFrom(
              'sum',
              'count',
              'max',
              'min',
              'string',
              'distinct',
              'keys',
              'length',
              'exists',
              'reverse',
              'sort',
              'type',
              'boolean',
              'not',
              'merge',
              'spread',
              'average',
              'number',
              'uppercase',
            ),
            one,
          )
          .map(([of, argument]) => `$${of}(${argument})`),
        fc.tuple(one, fc.nat(3), fc.nat(3)).map(([text, from, to]) => `$substring(${text}, ${from}, ${to})`),
        pair.map(([a, b]) => `$append(${a}, ${b})`),
        pair.map(([list, body]) => `$map(${list}, function($v, $i) { $i > 5 ? $v : ${body} })`),
        pair.map(([list, body]) => `$filter(${list}, function($v) { ${body} })`),
        one.map((list) => `$sort(${list}, function($l, $r) { $l > $r })`),
        one.map((list) => `$reduce(${list}, function($l, $r) { $l & $r })`),
        fc.tuple(one, one, one).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
        fc.tuple(one, one).map(([a, b]) => `($x := ${a}; [$x, ${b}, $x])`),
        fc.tuple(path, path).map(([base, of]) => `${base}.[${of}]`),
        path.map((base) => `${base}[]`),
        fc.tuple(path, name).map(([base, key]) => `$ ~> |${base}|{ "${key}": 1 }|`),
      ),
    };
  });

  spec(
    'CTX-30 CTX-31',
    'generated expressions over generated documents give the same results and errors',
    async () => {
      const ours = await loadOurs();
      let values = 0;
      await fc.assert(
        fc.asyncProperty(expression, document, async (text, json) => {
          const expected = await evaluate(jsonata, text, json);
          expect(await evaluate(ours, text, json), text).toEqual(expected);
          if (typeof expected === 'string' && expected !== 'undefined') values++;
        }),
        { numRuns: RUNS },
      );
      // Enough of them must have a result.
      expect(values).toBeGreaterThan((RUNS * 3) / 16);
    },
    600_000,
  );

  spec('CTX-30', 'sorting is stable and compares as JSONata does', async () => {
    const ours = await loadOurs();
    const item = fc.record({ a: fc.nat(3), b: fc.constantFrom('x', 'y', 'z') }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 40 }), async (items) => {
        const list = items.map((one, at) => ({ ...one, at }));
        for (const text of [
          '$^(a)',
          '$^(>b, a)',
          '$^(>a, <b)[[0..4]]',
          '$sort($, function($l, $r) { $l.at % 5 > $r.at % 3 })',
          '$#$i^(>a).$i',
          '$sort(a)',
          '$distinct(b)',
          '$distinct($.{ "a": a })',
        ])
          expect(await evaluate(ours, text, list), text).toEqual(await evaluate(jsonata, text, list));
      }),
      { numRuns: rounds(30, 300) },
    );
  });
});
