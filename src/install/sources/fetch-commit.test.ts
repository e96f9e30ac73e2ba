import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { findMoved } from './fetch-commit.js';

const move = (from: string, to: string): string =>
  findMoved(from, `10:00:00 http.c:1 <= Recv header: location: ${to}/info/refs?service=git-upload-pack\n`);

spec('INS-78', 'a repository does not move to an address that is nearer than its own', () => {
  expect(move('https://example.com/a', 'https://example.org/b.git')).toBe('https://example.org/b.git');
  expect(move('https://10.0.0.5/a', 'https://10.0.0.6/a')).toBe('https://10.0.0.6/a');
  for (const near of ['127.0.0.1', '[::1]', 'localhost', '10.0.0.5', '192.168.1.1', '169.254.169.254', '0x7f.1']) {
    const moving = (): string => move('https://example.com/a', `https://${near}/a`);
    expect(moving, near).toThrow(/has moved to .*, which is /);
  }
  expect(() => move('https://10.0.0.5/a', 'https://127.0.0.1/a')).toThrow(/which is /);
  expect(() => move('https://example.com/a', 'http://example.org/\u202e\u001b[2K')).toThrow(/^[ -~]+$/);
  expect(() => move('https://example.com/a', 'https://user:secret@example.org/a')).toThrow(/credentials/);
  expect(() => move('https://example.com/a', 'http://example.org/a')).toThrow(/not encrypted/);
});
