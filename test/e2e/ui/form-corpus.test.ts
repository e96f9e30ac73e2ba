// The form of every schema that the corpora contain can be filled in, and the result is valid.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect } from 'vitest';
import type { Json } from '../../../src/core/json.js';
import type { JsonSchema } from '../../../src/core/schema.js';
import { createJsonSchema } from '../../../src/schema/json.js';
import { createForm } from '../../../src/ui/form/state.js';
import { CORPORA, NO_CORPORA, parseDefinition } from '../../support/corpora.js';
import { fillForm } from '../../support/fill-form.js';
import { ODD_SCHEMAS } from '../../support/odd-schemas.js';
import { findUnshown } from '../../support/shown-values.js';
import { spec, specIf } from '../../support/spec.js';

const FILES = ['schemas/mcp-tools.jsonl', 'retrieval/livemcp/tools.jsonl', 'retrieval/stabletoolbench/tools.jsonl'];
const MAX_ATTEMPTS = 60;

const found: { name: string; schema: JsonSchema }[] = FILES.map((file) => resolve(CORPORA, file))
  .filter(existsSync)
  .flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))
  .map(parseDefinition)
  .map(({ name, inputSchema, parameters }) => ({ name, schema: inputSchema ?? parameters }));

describe('forms', () => {
  specIf.thorough(
    found.length > 0,
    NO_CORPORA,
    'UI-50 UI-52',
    'every schema of the corpora has a form that gives a valid value',
    async () => {
      expect(found.length).toBeGreaterThan(3000);
      const failed = [];
      for (const { name, schema } of found) {
        const fault = await tryForm(schema);
        if (fault !== undefined) failed.push({ name, fault });
      }
      expect(failed).toEqual([]);
    },
  );

  for (const [name, schema] of Object.entries(ODD_SCHEMAS))
    spec('UI-50 UI-51', `fills in ${name}`, async () => {
      expect(await tryForm(schema)).toBeUndefined();
    });
});

/** Returns what is wrong with the form of a schema, if anything. */
async function tryForm(schema: JsonSchema): Promise<unknown> {
  const own = createJsonSchema(schema, { closed: true });
  let last: unknown;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { state, unusable } = fillForm(schema, attempt);
    if (unusable.length > 0) return unusable;
    // What the JSON tab shows is what the form shows after it.
    const again = createForm(schema, JSON.parse(JSON.stringify(state.value)) as Json);
    const unshown = findUnshown(again, schema);
    if (unshown.length > 0) return { unshown, value: state.value };
    const check = await own.check(state.value);
    if (check.ok || hasUnknownType(schema)) return undefined;
    last = { value: state.value, faults: check.faults };
  }
  return last;
}

// `"type": "STRING"`, which no value has.
function hasUnknownType(schema: JsonSchema): boolean {
  const types = [...JSON.stringify(schema).matchAll(/"type":"([^"]*)"/g)].map(([, type]) => type!);
  return types.some((type) => !/^(?:string|number|integer|boolean|object|array|null)$/.test(type));
}
