// Our own SHA-256 against node:crypto's, and the digest of a file on either side of the border between them.

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestFile, digestParts, hashTexts } from './digest.js';
import { sha256 } from './sha256.js';

const reference = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

describe('sha256', () => {
  test('gives what node:crypto gives, for every length around a block', () => {
    for (let length = 0; length <= 260; length++) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 7 + length) & 0xff);
      expect(sha256(bytes)).toBe(reference(bytes));
    }
  });

  test('gives what node:crypto gives, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 10_000, size: 'max' }), (bytes) => {
        expect(sha256(bytes)).toBe(reference(bytes));
      }),
    );
  });
});

describe('a digest', () => {
  test('of parts is the same on either side of the border', () => {
    for (const length of [0, 1, 4000, 4090, 4091, 4092, 4100, 20_000]) {
      const part = 'é'.repeat(length / 2);
      const size = Buffer.byteLength(part);
      expect(digestParts(['a', part])).toBe(reference('1:a', `${size}:${part}`));
    }
  });

  test('of a file is the same on either side of the border', () => {
    const directory = mkdtempSync(join(tmpdir(), 'wield-digest-'));
    const path = join(directory, 'file');
    for (const length of [0, 1, 4000, 4087, 4088, 4089, 4096, 70_000, 200_000]) {
      const bytes = Buffer.alloc(length, `${length} `);
      writeFileSync(path, bytes);
      expect(digestFile(path, ['a'])).toMatchObject({ digest: reference('1:a', `${length}:`, bytes) });
    }
    rmSync(directory, { recursive: true });
  });
});

describe('texts', () => {
  test('hash to what any other program gives, however many and however often', () => {
    for (let round = 0; round < 40; round++) {
      for (const texts of [[], [''], ['a'], ['é', 'b'], ['x'.repeat(5000), 'y']])
        expect(hashTexts(texts)).toBe(reference(...texts));
    }
  });
});
