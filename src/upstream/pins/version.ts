// Compares versions of npm (semver) and PyPI (PEP 440).

import { compareText } from '../../core/text.js';

// Releases are after their pre-releases, and before their post-releases.
const ORDER: Readonly<Record<string, number>> = {
  dev: 0,
  a: 1,
  alpha: 1,
  b: 2,
  beta: 2,
  c: 3,
  rc: 3,
  pre: 3,
  preview: 3,
  '': 4,
  post: 5,
  rev: 5,
  r: 5,
};

/** Returns a number below, equal to or above 0. What follows `+` does not count. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parse(a), parse(b)];
  const ofNumbers = compareEach(left.numbers, right.numbers, (one = 0, other = 0) => one - other);
  return ofNumbers || compareEach(left.tail, right.tail, compareParts);
}

function parse(version: string) {
  const plain = version.trim().toLowerCase().replace(/^v/, '').split('+')[0]!;
  const [, epoch = '0', release = '', tail = ''] = /^(?:(\d+)!)?(\d+(?:\.\d+)*)?(.*)$/s.exec(plain) ?? [];
  // 1.0 and 1.0.0 are the same.
  const numbers = [epoch, ...release.split('.')].map(Number);
  while (numbers.at(-1) === 0) numbers.pop();
  return { numbers, tail: tail.match(/\d+|[a-z]+/g) ?? [] };
}

function compareEach<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (one: T | undefined, other: T | undefined, isFirst: boolean) => number,
): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const order = compare(a[at], b[at], at === 0);
    if (order !== 0) return order;
  }
  return 0;
}

// Numbers are before words. A first part is that of a pre-release, unless its word says otherwise.
function compareParts(a: string | undefined, b: string | undefined, isFirst: boolean): number {
  const [isNumber, isOtherNumber] = [a, b].map((part) => part !== undefined && /^\d/.test(part));
  if (isNumber && isOtherNumber) return Number(a) - Number(b);
  if (isNumber) return b === undefined && !isFirst ? 1 : -1;
  if (isOtherNumber) return a === undefined && !isFirst ? -1 : 1;
  const rank = (part = ''): number => ORDER[part] ?? 3.5;
  const order = rank(a) - rank(b);
  return order !== 0 || rank(a) !== 3.5 ? order : compareText(a ?? '', b ?? '');
}
