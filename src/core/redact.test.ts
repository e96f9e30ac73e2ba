// Tests of redaction in text, values and outputs.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spec } from '../../test/support/spec.js';
import { ToolError } from './error.js';
import { redactKnown, redactOutput, redactValue } from './redact.js';
import { type Output, textPart } from './result.js';

describe('text', () => {
  spec('ERR-5', 'redacts secrets as written in messages, JSON and URLs', () => {
    const secret = 'a"b/c~d e\nf';
    const forms = [secret, JSON.stringify(secret), encodeURIComponent(secret), 'a"b~1c~0d e\nf', 'a"b/c~d e f'];
    for (const form of forms) expect(redactKnown(`<${form}>`, [secret])).toMatch(/^<"?\[redacted\]"?>$/);
  });

  spec(
    'ERR-5',
    'redacts secrets as bytes: in Base64 behind and before anything, in hexadecimal and percent-encoded',
    () => {
      const secret = 'tök/en+4711?x';
      const bytes = Buffer.from(secret);
      for (const before of ['', 'u', 'me', 'Bearer ', 'user:', 'a longer name:'])
        for (const after of ['', ':', '@host', '=1']) {
          const whole = Buffer.from(before + secret + after);
          for (const text of [whole.toString('base64'), whole.toString('base64url')]) {
            const redacted = redactKnown(`<${text}>`, [secret]);
            expect([before, after, redacted]).toEqual([before, after, expect.stringContaining('[redacted]')]);
            expect(Buffer.from(redacted.replace(/\[redacted\].*/, '').slice(1), 'base64').toString()).not.toContain(
              'tö',
            );
          }
        }
      const percent = [...bytes].map((byte) => `%${byte.toString(16)}`).join('');
      const encoded = [bytes.toString('hex'), bytes.toString('hex').toUpperCase(), percent, percent.toUpperCase()];
      const inUrl = encodeURIComponent(secret);
      const written = [inUrl, inUrl.toLowerCase(), 't\\u00f6k/en+4711?x', 'tök\\/en+4711?x'];
      for (const form of [...encoded, ...written]) expect(redactKnown(`<${form}>`, [secret])).toBe('<[redacted]>');
      expect(redactKnown('dGVzdA and 74657374', ['test-value'])).toBe('dGVzdA and 74657374');
    },
  );

  spec('SEC-8', 'redacts the beginning of a secret where a text was cut', () => {
    const secret = 'token-0123456789abcdef/+x';
    const forms = [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')];
    for (const form of [...forms, encodeURIComponent(secret)])
      for (const length of [10, 13, 24])
        for (const end of ['', '…', '…\nmore', ' … and more', '\nmore']) {
          const cut = form.slice(0, length);
          expect(redactKnown(`it is ${cut}${end}`, [secret])).toBe(`it is [redacted]${end}`);
          expect(redactKnown(`it is ${cut}, and${end}`, [secret])).toBe(`it is ${cut}, and${end}`);
        }
    expect(redactKnown('a token…', [secret])).toBe('a token…');
  });

  test('redacts overlapping secrets completely, and not the marker itself', () => {
    expect(redactKnown('xabcdefghx', ['abcde', 'cdefgh'])).toBe('x[redacted]x');
    expect(redactKnown('xabcdefghx', ['abcdefgh', 'cdef'])).toBe('x[redacted]x');
    expect(redactKnown('abcd redacted', ['abcd', 'redacted'])).toBe('[redacted] [redacted]');
    expect(redactKnown('abc', ['abc'])).toBe('abc');
  });

  test('returns text without secrets unchanged and removes secrets from any other', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string({ minLength: 4 }), (before, after, secret) => {
        const clean = redactKnown(before, [secret]);
        if (!before.includes(secret)) expect(redactKnown(before, ['\u0000\u0001never'])).toBe(before);
        expect(redactKnown(`${clean}\n${secret}\n${after}`, [secret])).toContain('[redacted]');
      }),
    );
  });
});

describe('outputs', () => {
  const secret = 's3cr3t-value';
  const output: Output = {
    content: [
      textPart(`token ${secret} and ${encodeURIComponent(secret)}`),
      { type: 'resource', resource: { uri: `x://${secret}`, text: `"${secret}"`, blob: btoa(secret) } },
      { type: 'image', data: secret, mimeType: 'image/png' },
    ],
    structured: { [`key-${secret}`]: [secret, { deep: `a${secret}b` }], plain: 1 },
    error: new ToolError('tool_failed', `no ${secret}`, { hint: `not ${secret}`, data: { got: [secret] } }),
  };

  spec('ERR-5', 'redacts texts, keys, resources and errors, not bytes', () => {
    const { content, structured, error } = redactOutput(output, [secret]);
    expect(content[0]).toEqual(textPart('token [redacted] and [redacted]'));
    expect(content[1]).toEqual({
      type: 'resource',
      resource: { uri: 'x://[redacted]', text: '"[redacted]"', blob: btoa(secret) },
    });
    expect(content[2]).toEqual(output.content[2]);
    expect(structured).toEqual({ 'key-[redacted]': ['[redacted]', { deep: 'a[redacted]b' }], plain: 1 });
    expect(error).toMatchObject({ code: 'tool_failed', message: 'no [redacted]', hint: 'not [redacted]' });
    expect(error?.data).toEqual({ got: ['[redacted]'] });
  });

  test('returns the same object if nothing was redacted', () => {
    expect(redactOutput(output, ['another-value'])).toBe(output);
    expect(redactOutput(output, [])).toBe(output);
    const value = { a: [1, { b: 'text' }] };
    expect(redactValue(value, ['another-value'])).toBe(value);
    expect(redactValue({ pin: 471100 }, ['471100'])).toEqual({ pin: '[redacted]' });
  });
});
