// Gate: one warm call of a script executes few source files and makes few file system calls.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.js';

const MAX_FILES = 40;
const MAX_FILE_SYSTEM_CALLS = 45;

test('a warm call of a script is cheap', (context) => {
  const text = execFileSync(process.execPath, [join(ROOT, 'scripts/call-cost.mjs')], { encoding: 'utf8' });
  const count = (what: string): number => Number(new RegExp(`^${what} +(\\S+)`, 'm').exec(text)?.[1]);
  expect(count('files executed'), 'npm run call-cost -- --verbose lists them').toBeLessThanOrEqual(MAX_FILES);
  const calls = count('file system calls');
  if (Number.isNaN(calls)) context.skip('strace is not installed, so file system calls are not counted');
  expect(calls, 'npm run call-cost -- --verbose lists them').toBeLessThanOrEqual(MAX_FILE_SYSTEM_CALLS);
});
