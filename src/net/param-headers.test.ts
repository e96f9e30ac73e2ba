// Tests of parameters that are sent as headers: any text arrives as it is, and begins no header of its own.

import fc from 'fast-check';
import { expect } from 'vitest';
import { rounds, SEED } from '../../test/support/effort.js';
import { spec } from '../../test/support/spec.js';
import { decodeHeader, type ParamHeader, toParamHeaders } from './param-headers.js';

const DECLARED = [{ path: ['in', 'text'], name: 'Text' }] as unknown as readonly ParamHeader[];
const send = (text: unknown) => toParamHeaders(DECLARED, { in: { text } })['Mcp-Param-Text'];

spec('SRV-18', 'what HTTP would change, and what looks encoded, is encoded', () => {
  for (const plain of ['a', 'a b', '~', 'a\tb', '=?base64?', 'x=?base64?eA==?=']) expect(send(plain)).toBe(plain);
  for (const [text, base64] of [
    ['a\r\nHost: evil.example', 'YQ0KSG9zdDogZXZpbC5leGFtcGxl'],
    [' a', 'IGE='],
    ['a ', 'YSA='],
    ['', ''],
    ['é', 'w6k='],
    ['\0', 'AA=='],
    ['=?base64?eA==?=', 'PT9iYXNlNjQ/ZUE9PT89'],
  ])
    expect([text, send(text)]).toEqual([text, `=?base64?${base64}?=`]);
  expect([7, 1.5, true, 2 ** 53, null, {}, ['a']].map(send)).toEqual([
    '7',
    '1.5',
    'true',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  for (const damaged of ['=?base64?é?=', '=?base64?e?=', '=?base64?/w==?='])
    expect(decodeHeader(damaged)).toBeUndefined();
});

spec('SRV-18', 'every text arrives as it is', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary-ascii' }));
  fc.assert(
    fc.property(text, (given) => {
      const sent = send(given)!;
      expect(sent).toMatch(/^[\t\x20-\x7e]*$/);
      expect(new Headers({ a: sent }).get('a')).toBe(sent);
      expect(decodeHeader(sent)).toBe(given);
    }),
    { numRuns: rounds(200, 5000), seed: SEED },
  );
});
