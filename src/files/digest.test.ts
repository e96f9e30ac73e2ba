// Tests of digests: framing of parts, and files of any size.

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestAsFile, digestBytes, digestFile, digestParts, hashTexts } from './digest.js';

const reference = (...parts: (string | Uint8Array)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

test('digestParts frames each part by its length in bytes', () => {
  for (const length of [0, 1, 4000, 20_000]) {
    const part = 'é'.repeat(length);
    expect(digestParts(['a', part])).toBe(reference('1:a', `${length * 2}:${part}`));
  }
  expect(digestParts(['a', 'b'])).not.toBe(digestParts(['ab']));
});

test('digestFile and digestAsFile agree for any size', () => {
  const directory = mkdtempSync(join(tmpdir(), 'wield-digest-'));
  const path = join(directory, 'file');
  for (const length of [0, 1, 4096, 65_535, 65_536, 70_000, 200_000]) {
    const bytes = Buffer.alloc(length, `${length} `);
    writeFileSync(path, bytes);
    const digest = reference('1:a', `${length}:`, bytes);
    expect(digestFile(path, ['a'])).toMatchObject({ digest });
    expect(digestAsFile(bytes, ['a'])).toBe(digest);
  }
  rmSync(directory, { recursive: true });
});

test('digestBytes is plain SHA-256', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 10_000, size: 'max' }), (bytes) => {
      expect(digestBytes(Buffer.from(bytes))).toBe(reference(bytes));
    }),
  );
});

test('hashTexts is plain SHA-256 of the concatenated texts', () => {
  for (const texts of [[], [''], ['a'], ['é', 'b'], ['x'.repeat(5000), 'y']])
    expect(hashTexts(texts)).toBe(reference(...texts));
});
