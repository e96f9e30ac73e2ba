// Keywords for numbers and strings, and comparison with constants.

import type { Json } from '../core/json.js';
import type { SchemaNode } from '../core/schema.js';
import { describeExpectation } from './expectation.js';
import { FORMATS } from './formats.js';
import { compilePattern } from './pattern.js';
import type { Budget, Run, Visit } from './run.js';

/** Returns a test for equality with one of the values. */
export function toMembership(values: unknown): (value: Json, run: Run) => boolean {
  if (!Array.isArray(values)) return () => true;
  const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;
  const scalars = new Set<unknown>(values.filter(isScalar));
  const others = values.filter((value) => !isScalar(value)) as Json[];
  // Within the budget too, because a schema can have many.
  let keys: Set<string> | undefined;
  return (value, run) => {
    if (isScalar(value)) return scalars.has(value);
    if (others.length === 0) return false;
    keys ??= new Set(others.map((other) => run.keyOf(other)));
    return keys.has(run.keyOf(value));
  };
}

export function compileNumber(node: SchemaNode): Visit[] {
  const checks: Visit[] = [];
  const add = (
    keyword: string,
    accepts: (value: number, limit: number) => boolean,
    described: string = keyword,
  ): void => {
    const limit = node[keyword];
    if (typeof limit !== 'number') return;
    checks.push((value, run) => {
      // Multiples of very small numbers are computed with hundreds of digits.
      run.spend(keyword === 'multipleOf' ? 50 : 0);
      return accepts(value as number, limit) || run.fail('value', () => describeExpectation(described, limit), value);
    });
  };
  // In draft 4, `exclusiveMinimum: true` excludes the bound of `minimum`.
  for (const [keyword, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const isExclusive = node[exclusive] === true;
    const sign = keyword === 'minimum' ? 1 : -1;
    add(
      keyword,
      (value, limit) => (isExclusive ? (value - limit) * sign > 0 : (value - limit) * sign >= 0),
      isExclusive ? exclusive : keyword,
    );
  }
  add('exclusiveMinimum', (value, limit) => value > limit);
  add('exclusiveMaximum', (value, limit) => value < limit);
  add('multipleOf', isMultipleOf);
  return checks;
}

// In decimal, because 0.3 is a multiple of 0.1.
function isMultipleOf(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || !(divisor > 0)) return false;
  const [a, b] = [toDecimal(value), toDecimal(divisor)];
  const exponent = a.exponent - b.exponent;
  const scale = 10n ** BigInt(Math.abs(exponent));
  return exponent >= 0
    ? (a.coefficient * scale) % b.coefficient === 0n
    : a.coefficient % (b.coefficient * scale) === 0n;
}

function toDecimal(value: number): { readonly coefficient: bigint; readonly exponent: number } {
  const [digits = '0', exponent = '0'] = Math.abs(value).toString().split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  return { coefficient: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

export function compileString(node: SchemaNode): Visit[] {
  const checks: Visit[] = [];
  const add = (keyword: string, accepts: (value: string, run: Run) => boolean): void => {
    checks.push(
      (value, run) =>
        accepts(value as string, run) ||
        run.fail('value', () => describeExpectation(keyword, node[keyword], node.format), value),
    );
  };
  const { minLength, maxLength, pattern, format } = node;
  // A character has one or two code units.
  if (typeof minLength === 'number')
    add('minLength', (value, run) => value.length >= minLength * 2 || lengthOf(value, run) >= minLength);
  if (typeof maxLength === 'number')
    add('maxLength', (value, run) => value.length <= maxLength || lengthOf(value, run) <= maxLength);
  if (typeof pattern === 'string') {
    const { matches } = compilePattern(pattern);
    add('pattern', matches);
  }
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format))
    add('format', (value, run) => hasFormat(value, format, run));
  return checks;
}

function lengthOf(value: string, budget: Budget): number {
  budget.spend(value.length / 4);
  let length = 0;
  for (const _ of value) length++;
  return length;
}

// Longer URIs, of embedded data for example, are only checked for a scheme and valid characters.
const MAX_FORMATTED = 4096;
const LONG_URI = /^[a-z][a-z0-9+.-]*:[\w:/?#[\]@!$&'()*+,;=.~%-]*$/i;

function hasFormat(value: string, name: string, budget: Budget): boolean {
  if (value.length > MAX_FORMATTED && name !== 'url') {
    budget.spend(value.length / 16);
    return name.startsWith('uri') && LONG_URI.test(value);
  }
  budget.spend(1 + value.length);
  return FORMATS[name]!(value);
}
