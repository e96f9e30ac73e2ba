// Lowers the input schemas of real servers to every provider's form and back, where the corpus is at hand.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect } from 'vitest';
import { lower } from '../../../src/adapters/lowering/lower.js';
import { ANTHROPIC, ANY_PROVIDER, OLLAMA, OPENAI } from '../../../src/adapters/lowering/profile.js';
import type { JsonSchema } from '../../../src/core/schema.js';
import { createJsonSchema } from '../../../src/schema/json.js';
import { CORPORA, NO_CORPORA } from '../../support/corpora.js';
import { SAMPLED, some } from '../../support/effort.js';
import { encodeArguments } from '../../support/encode-arguments.js';
import { refusals } from '../../support/provider-rules.js';
import { specIf } from '../../support/spec.js';
import { valuesOf } from '../../support/valid-values.js';

const FILE = resolve(CORPORA, 'schemas/mcp-tools.jsonl');
const found: { name: string; inputSchema: JsonSchema }[] = existsSync(FILE)
  ? readFileSync(FILE, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : [];

const CASES = [
  { profile: ANTHROPIC, strict: false },
  { profile: ANTHROPIC, strict: true },
  { profile: OPENAI, strict: false },
  { profile: OPENAI, strict: true },
  { profile: OLLAMA, strict: false },
  { profile: ANY_PROVIDER, strict: false },
];
const VALUES = 6;
const cases = some(found, 120);

specIf.thorough(
  found.length > 0,
  NO_CORPORA,
  'SDK-2',
  `every schema is lowered to what each provider takes, and no valid value is lost${SAMPLED}`,
  async () => {
    expect(found.length).toBeGreaterThan(500);
    const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
    const seen = { values: 0, barren: 0, strict: 0 };
    for (const [index, { name, inputSchema }] of cases.entries()) {
      const own = createJsonSchema(inputSchema, { closed: true });
      const valid = [];
      for (const value of fc.sample(valuesOf(inputSchema), { numRuns: VALUES, seed: index }))
        if ((await own.check(value)).ok) valid.push(value);
      if (valid.length === 0) seen.barren++;
      const compiled = new Map<string, ReturnType<typeof ajv.compile>>();
      for (const { profile, strict } of CASES) {
        const lowering = lower(inputSchema, profile, { strict });
        const about = { name, profile: profile.name, lowered: lowering.schema };
        const rules = { provider: profile.name as 'openai', strict: lowering.strict };
        expect({ ...about, refusals: refusals(lowering.schema, rules) }).toEqual({ ...about, refusals: [] });
        if (profile === OPENAI && lowering.strict) seen.strict++;
        // Most schemas are the same for several providers.
        const text = JSON.stringify(lowering.schema);
        const accepts = compiled.get(text) ?? ajv.compile(lowering.schema);
        compiled.set(text, accepts);
        for (const value of valid) {
          const encoded = encodeArguments(value, inputSchema, lowering, profile);
          expect({ ...about, encoded, taken: accepts(encoded) }).toEqual({ ...about, encoded, taken: true });
          expect({ ...about, encoded, value: lowering.restore(encoded) }).toEqual({
            ...about,
            encoded,
            value,
          });
          seen.values++;
        }
      }
    }
    expect(seen.barren).toBeLessThan(cases.length / 20);
    expect(seen.values).toBeGreaterThan(cases.length * 20);
    expect(seen.strict).toBeGreaterThan(cases.length * 0.8);
  },
  600_000,
);
