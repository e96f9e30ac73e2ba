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
  return (
    compareLists([left.epoch, ...left.release], [right.epoch, ...right.release]) || compareTails(left.tail, right.tail)
  );
}

function parse(version: string) {
  const plain = version.trim().toLowerCase().replace(/^v/, '').split('+')[0]!;
  const [, epoch = '0', release = '', tail = ''] = /^(?:(\d+)!)?(\d+(?:\.\d+)*)?(.*)$/s.exec(plain) ?? [];
  // 1.0 and 1.0.0 are the same.
  const numbers = release.split('.').map(Number);
  while (numbers.at(-1) === 0) numbers.pop();
  return { epoch: Number(epoch), release: numbers, tail: tail.match(/\d+|[a-z]+/g) ?? [] };
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  const at = Array.from({ length: Math.max(a.length, b.length) }, (_, index) => index).find(
    (index) => (a[index] ?? 0) !== (b[index] ?? 0),
  );
  return at === undefined ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

function compareTails(a: readonly string[], b: readonly string[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const order = compareParts(a[at], b[at], at === 0);
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
