// Tests of the serializer as source text, in a fresh context and in another engine.

import { createContext, runInContext } from 'node:vm';
import { newQuickJSWASMModuleFromVariant } from 'quickjs-emscripten-core';
import { describe, expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { parse, reviveFns, stringify, transferableSerializerSource } from '../../helpers.js';

// Runs in any engine and returns text made with the functions under test.
const PROGRAM = `(function () {
  var value = {
    map: new Map([['k', new Set([1, new Date(0)])]]),
    big: 12345678901234567890n,
    error: new RangeError('too far', { cause: 'x' }),
    plain: { $fn: 'data' },
    add: (a, b) => a + b,
    method(a) { return a * 2; },
    promise: Promise.resolve(1),
    list: [undefined, NaN, -0, 'é'],
  };
  value.self = value;
  var text = stringify(value);
  var kept = parse(text);
  var back = parse(text, { functions: true });
  var deep = [];
  for (var i = 0; i < 3000; i++) deep = [deep];
  return stringify([
    text,
    back.self === back,
    back.map.get('k').has(1),
    back.big === value.big,
    back.error instanceof RangeError,
    back.plain,
    typeof kept.add,
    back.add(2, 3),
    back.method(4),
    reviveFns({ f: { $fn: 'function () { return 9 }' } }).f(),
    stringify(deep).length,
    stringify({ a: { b: {} } }, { maxDepth: 1 }),
    stringify('x'.repeat(500), { maxBytes: 64 }),
  ]);
})()`;

const ours = (): string =>
  new Function('stringify', 'parse', 'reviveFns', `return ${PROGRAM}`)(stringify, parse, reviveFns);

describe('transferableSerializerSource', () => {
  spec('HLP-4', 'runs in a fresh context as a classic script and declares three functions', () => {
    const context = createContext(Object.create(null));
    runInContext(transferableSerializerSource(), context);
    expect(runInContext(PROGRAM, context)).toBe(ours());
    expect(Object.keys(context).sort()).toEqual(['parse', 'reviveFns', 'stringify']);
  });

  spec.thorough('HLP-4', 'runs in QuickJS', async () => {
    const engine = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-wasmfile-release-sync'));
    const context = engine.newContext();
    try {
      context.unwrapResult(context.evalCode(transferableSerializerSource())).dispose();
      const result = context.unwrapResult(context.evalCode(PROGRAM));
      expect(context.getString(result)).toBe(ours());
      result.dispose();
    } finally {
      context.dispose();
    }
  });

  spec('HLP-4', 'uses the given names and rejects invalid ones', () => {
    const context = createContext(Object.create(null));
    runInContext(transferableSerializerSource({ stringify: '$write', parse: '_read' }), context);
    expect(runInContext('_read($write(new Map([[1, 2]]))).get(1)', context)).toBe(2);
    expect(Object.keys(context).sort()).toEqual(['$write', '_read', 'reviveFns']);
    for (const parse of ['a b', '', '1a', 'x = evil()']) {
      expect(() => transferableSerializerSource({ parse })).toThrow(/is not a valid function name/);
    }
  });
});
