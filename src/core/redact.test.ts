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

  spec('ERR-5 SEC-8', 'redacts secrets in whichever characters a URL or JSON escapes them', () => {
    const secret = 'p~ö t!/a"B\\9*x+(7)&<😀>';
    const percent = (one: string): string => [...Buffer.from(one)].map((byte) => `%${byte.toString(16)}`).join('');
    const unicode = (one: string): string =>
      one.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const inJson = (one: string): string => JSON.stringify(one).slice(1, -1);
    const inUrl: ((one: string) => string)[] = [
      percent,
      (one) => percent(one).toUpperCase(),
      (one) => (one === ' ' ? '+' : percent(one)),
    ];
    const encode = fc
      .array(fc.boolean(), { minLength: [...secret].length, maxLength: [...secret].length })
      .chain((which) =>
        fc.constantFrom(...inUrl, unicode).map((escaping) => {
          // What the other characters must be.
          const other = escaping === unicode ? inJson : (one: string) => (/[ +%]/.test(one) ? escaping(one) : one);
          return [...secret].map((one, at) => (which[at] ? escaping(one) : other(one))).join('');
        }),
      );
    const again: ((one: string) => string)[] = [(one) => one, inJson, encodeURIComponent];
    fc.assert(
      fc.property(encode, fc.constantFrom(...again), (text, twice) => {
        expect(redactKnown(`<${twice(text)}>`, [secret])).toBe('<[redacted]>');
        expect(redactKnown(`a=${twice(text)}, b`, [secret])).toBe('a=[redacted], b');
      }),
    );
    const url = new URL('https://me@host/');
    url.password = secret;
    const ofPlatform = [new URLSearchParams({ a: secret }).toString(), url.href, encodeURI(secret)];
    for (const text of ofPlatform) expect(redactKnown(text, [secret])).toMatch(/^[^%]*\[redacted\][^%]*$/);
  });

  spec('ERR-5 SEC-8', 'redacts Base64 and hexadecimal over several lines, and between blanks', () => {
    const secret = `k/+${'0123456789abcdefghij'.repeat(4)}`;
    const wrap = (text: string, width: number, end: string): string =>
      text.match(new RegExp(`.{1,${width}}`, 'g'))!.join(end);
    const hex = Buffer.from(secret).toString('hex');
    for (const end of ['\n', '\r\n', '\n  ', '\\n', '\\\\r\\\\n', '%0A'])
      for (const text of [
        ...[64, 76].map((width) => wrap(Buffer.from(secret).toString('base64'), width, end)),
        wrap(hex, 60, end),
        ` ${wrap(wrap(hex, 2, ' '), 48, end)}`,
      ])
        expect(redactKnown(`<${text}>`, [secret])).toMatch(/^< ?\[redacted\].{0,3}>$/);
    const behind = wrap(Buffer.from(`client-id-${'0123456789-'.repeat(4)}:${secret}`).toString('base64'), 76, '\n');
    expect(Buffer.from(redactKnown(behind, [secret]).replace('[redacted]', ''), 'base64').toString()).not.toContain(
      'cde',
    );
    expect(redactKnown(`${wrap(hex, 60, '\n').slice(0, 80)}…`, [secret])).toBe('[redacted]…');
  });

  spec('ERR-5', 'does not redact what only looks like a secret without its escapes', () => {
    const texts = [
      ...['C:\\foo\\bar', 'foo bar', 'foo%20bar', 'foo\\nbar', 'f\\u006fo\\tbar', 'foo%2fbar', 'foo\\/bar', '%', '\\'],
      ...['foo\nbar', 'fo%6f b%61r', 'foo%2\\u0062ar'],
    ];
    for (const text of texts) expect(redactKnown(text, ['foobar', 'no-such', 'foo+bar'])).toBe(text);
    for (const text of ['%foobar', '\\foobar', '%41foobar', '\\u0041foobar', '50%25foobar'])
      expect(redactKnown(text, ['foobar'])).toBe(text.replace('foobar', '[redacted]'));
  });

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
    for (const cut of ['%74oken-01234', 't\\u006fken-01234', '%74oken-01234%3', 't\\u006fken-01234\\u00'])
      expect(redactKnown(`it is ${cut}…`, [secret])).toMatch(/^it is \[redacted\](?:%3|\\u00)?…$/);
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
