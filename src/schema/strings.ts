// Compiles the keywords of strings: length, pattern and format.

import type { SchemaNode } from '../core/schema.js';
import { describeExpectation } from './expectation.js';
import { FORMATS } from './formats.js';
import { compilePattern } from './pattern.js';
import type { Budget, Run, Visit } from './run.js';

export function compileString(node: SchemaNode): Visit[] {
  const checks: Visit[] = [];
  const add = (keyword: string, accepts: (value: string, run: Run) => boolean): void => {
    checks.push(
      (value, run) =>
        accepts(value as string, run) || run.fail('value', () => describeExpectation(keyword, node[keyword]), value),
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
