// Gate: the memory of a server does not grow with its calls. What a call allocates is collected soon after it, and the space
// for new objects keeps its size.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ALL_TESTS } from '../support/effort.js';
import { ROOT } from '../support/sources.js';

const SCRIPT = join(ROOT, 'test/support/old-space.mjs');
// Usually below 30. A Map that each call enters and leaves takes 300.
const MAX_BYTES = 150;

// The same code with another transport takes 2 s.
test.each(ALL_TESTS ? ['stdio', 'HTTP'] : ['stdio'])('a call over %s leaves few old objects', (transport) => {
  const stdout = execFileSync(process.execPath, ['--expose-gc', SCRIPT, transport], { encoding: 'utf8' });
  expect(Number(stdout)).toBeLessThan(MAX_BYTES);
});

// The engine would enlarge it to 32 MB.
test('the space for new objects stays at 16 MB', () => {
  const stdout = execFileSync(process.execPath, [join(ROOT, 'test/support/new-space.mjs')], { encoding: 'utf8' });
  expect(Number(stdout)).toBe(16 * 1024 * 1024);
});

// Usually 950. With a timer and a Map of the runs, objects made by spreading and an AbortSignal it was 14,000.
const MAX_BYTES_OF_SCRIPT = 2000;

test.runIf(ALL_TESTS)(
  'a call of a script by a server leaves few old objects',
  () => {
    // No collection of old objects meanwhile.
    const flags = '--expose-gc --initial-old-space-size=1000 --min-semi-space-size=8 --max-semi-space-size=8'.split(
      ' ',
    );
    const stdout = execFileSync(process.execPath, [...flags, SCRIPT, 'script'], { encoding: 'utf8' });
    expect(Number(stdout)).toBeLessThan(MAX_BYTES_OF_SCRIPT);
  },
  300_000,
);
