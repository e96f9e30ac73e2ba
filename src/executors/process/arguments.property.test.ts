// Property tests of the arguments of declared commands.

import fc from 'fast-check';
import { expect } from 'vitest';
import { declare } from '../../../test/support/commands.js';
import { rounds } from '../../../test/support/effort.js';
import { spec } from '../../../test/support/spec.js';
import { isToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { readToolsDescriptor } from '../../formats/tools-json/parse.js';
import { toArguments, toSlots } from './arguments.js';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('-', '--', '-c', '--output=/x', '\n-x', ' -x', '--f1', '\0'),
);
const value: fc.Arbitrary<Json | undefined> = fc.oneof(
  text,
  fc.array(text, { maxLength: 3 }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.dictionary(fc.string(), text, { maxKeys: 2 }),
);
const mapping = fc.oneof(
  fc.record({ kind: fc.constant('positional'), split: fc.boolean(), optional: fc.boolean() }),
  fc.record({ kind: fc.constant('flag'), short: fc.boolean() }),
  fc.record({ kind: fc.constant('flagifboolean') }),
  fc.record({ kind: fc.constant('tempfile') }),
  fc.record({ kind: fc.constant('literal') }),
  fc.record({ kind: fc.constant('workingdir') }),
);
const command = fc.array(fc.tuple(mapping, value), { maxLength: 6 });

function build(entries: readonly (readonly [object & { kind: string; short?: boolean }, Json | undefined])[]) {
  const args = entries.map(([{ short, ...rest }, _], index) =>
    rest.kind === 'literal'
      ? { kind: 'literal', value: `-literal${index}` }
      : {
          ...rest,
          param: `p${index}`,
          ...(rest.kind === 'flag' || rest.kind === 'tempfile' ? { flag: `${short ? '-' : '--'}f${index}` } : {}),
          ...(rest.kind === 'flagifboolean' ? { flagIfTrue: `-t${index}`, flagIfFalse: `-n${index}` } : {}),
        },
  );
  const input = Object.fromEntries(
    entries.flatMap(([, given], index) => (given === undefined ? [] : [[`p${index}`, given] as const])),
  );
  const { descriptor } = readToolsDescriptor({ tools: declare(args) });
  const [execution] = descriptor!.tools[0]!.executions;
  try {
    return toArguments(execution!, toSlots(execution!, input), () => '/file');
  } catch (error) {
    if (isToolError(error) && error.code === 'invalid_input') return undefined;
    throw error;
  }
}

spec('TJS-12 TJS-13', 'never turns a value into an option or passes NUL', () => {
  let built = 0;
  fc.assert(
    fc.property(command, (entries) => {
      const result = build(entries);
      if (result === undefined) return;
      built++;
      for (const argument of result.argv) {
        expect(argument).not.toContain('\0');
        if (argument.startsWith('-')) expect(argument).toMatch(/^(?:-literal\d|-[tn]\d|--?f\d|--f\d=-.*)$/su);
      }
    }),
    { numRuns: rounds(400, 2000) },
  );
  expect(built).toBeGreaterThan(200);
});

spec('TJS-6', 'keeps the order of the declaration', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 12 }), (kinds) => {
      const result = build(kinds.map((flag, index) => [{ kind: flag ? 'flag' : 'positional' }, `v${index}`]));
      expect(result!.argv).toEqual(kinds.flatMap((flag, index) => (flag ? [`--f${index}`] : []).concat(`v${index}`)));
    }),
  );
});

spec('TJS-6 TJS-7 TJS-8', 'passes text unchanged', () => {
  fc.assert(
    fc.property(text, (given) => {
      const positional = build([[{ kind: 'positional' }, given]]);
      const flag = build([[{ kind: 'flag' }, given]]);
      if (given.includes('\0')) expect([positional, flag]).toEqual([undefined, undefined]);
      else if (given.startsWith('-')) {
        expect(positional).toBeUndefined();
        expect(flag!.argv).toEqual([`--f0=${given}`]);
      } else {
        expect(positional!.argv).toEqual([given]);
        expect(flag!.argv).toEqual(['--f0', given]);
      }
    }),
    { numRuns: rounds(50, 500) },
  );
});
