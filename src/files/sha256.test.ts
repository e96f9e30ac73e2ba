// Compares SHA-256 with that of node:crypto.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from './sha256.js';

const expected = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('is that of node:crypto for every length around the ends of blocks', () => {
  for (let length = 0; length < 300; length++) {
    const bytes = Buffer.from(Array.from({ length }, (_, at) => (at * 31 + length) % 256));
    expect(sha256(bytes)).toBe(expected(bytes));
  }
});

test('is that of node:crypto for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000, size: 'max' }), (bytes) => {
      expect(sha256(bytes)).toBe(expected(bytes));
    }),
  );
});
