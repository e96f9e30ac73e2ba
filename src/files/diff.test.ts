// Tests of line diffs of long texts; short ones are tested by what is shown.

import { expect, test } from 'vitest';
import { lineDiff } from './diff.js';

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

test('shows a small change of a long text', () => {
  const before = numbers(5000);
  const after = [...before.slice(0, 2500), 'line x', ...before.slice(2501)];
  const expected = ['  line 2499', '- line 2500', '+ line x', '  line 2501'];
  expect(lineDiff(before.join('\n'), after.join('\n'))).toEqual(expected);
  expect(lineDiff(before.join('\n'), [...before, 'more'].join('\n'))).toEqual(['  line 4999', '+ more']);
  expect(lineDiff(before.join('\n'), before.slice(1).join('\n'))).toEqual(['- line 0', '  line 1']);
  expect(lineDiff(before.join('\n'), before.join('\n'))).toEqual([]);
});

test('names the lengths if most of a long text differs', () => {
  const after = numbers(3000).map((line) => `other ${line}`);
  expect(lineDiff(numbers(4000).join('\n'), after.join('\n'))).toEqual(['- 4000 lines', '+ 3000 lines']);
});
