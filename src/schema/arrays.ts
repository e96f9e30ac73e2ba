// Keywords for arrays.

import type { Json } from '../core/json.js';
import type { SchemaNode } from '../core/schema.js';
import { describeExpectation } from './expectation.js';
import { ALL_ITEMS, type Compiler, type Evaluated, every, isValid, type Run, type Visit, visitChild } from './run.js';

type Items = readonly Json[];
type ArrayVisit = (value: Items, run: Run, evaluated: Evaluated | undefined) => boolean;

export function compileArray(node: SchemaNode, compiler: Compiler): Visit[] {
  const checks: ArrayVisit[] = [];
  const add = (keyword: string, check: ArrayVisit): void => {
    checks.push(
      (value, run, evaluated) =>
        check(value, run, evaluated) || run.fail('value', () => describeExpectation(keyword, node[keyword]), value),
    );
  };
  const { minItems, maxItems, uniqueItems, contains } = node;
  if (typeof maxItems === 'number') add('maxItems', ({ length }) => length <= maxItems);
  if (typeof minItems === 'number') add('minItems', ({ length }) => length >= minItems);
  checks.push(...compileItems(node, compiler));
  if (contains !== undefined) add('contains', compileContains(node, compiler));
  if (uniqueItems === true) checks.push(hasUniqueItems);
  if (node.unevaluatedItems !== undefined) {
    const inner = compiler.visit(node.unevaluatedItems);
    checks.push((value, run, evaluated) => {
      const isCovered = (at: number): boolean => evaluated!.has(ALL_ITEMS) || evaluated!.has(at);
      const valid = every([...value.keys()], (at) => isCovered(at) || visitChild(inner, value[at]!, at, run), run);
      evaluated!.add(ALL_ITEMS);
      return valid;
    });
  }
  return checks as unknown as Visit[];
}

// A list in `items` is that of earlier drafts, where `additionalItems` is for the items after it.
function compileItems(node: SchemaNode, { visit }: Compiler): ArrayVisit[] {
  const tuple = node.prefixItems ?? node.items;
  const first = Array.isArray(tuple) ? tuple.map(visit) : [];
  const rest = Array.isArray(node.items) ? node.additionalItems : node.items;
  const inner = rest === undefined ? undefined : visit(rest);
  if (first.length === 0 && inner === undefined) return [];
  return [
    (value, run, evaluated) => {
      const end = inner === undefined ? Math.min(first.length, value.length) : value.length;
      run.spend(end / 8);
      if (inner !== undefined) evaluated?.add(ALL_ITEMS);
      else if (evaluated !== undefined) for (let at = 0; at < end; at++) evaluated.add(at);
      const check = (at: number): boolean => visitChild(first[at] ?? inner!, value[at]!, at, run);
      if (run.defer(end, check)) return true;
      let valid = true;
      for (let at = 0; at < end && (valid || run.quiet === 0); at++) if (!check(at)) valid = false;
      return valid;
    },
  ];
}

function compileContains(node: SchemaNode, { visit }: Compiler): ArrayVisit {
  const inner = visit(node.contains);
  const least = typeof node.minContains === 'number' ? node.minContains : 1;
  const most = typeof node.maxContains === 'number' ? node.maxContains : Number.POSITIVE_INFINITY;
  return (value, run, evaluated) => {
    run.spend(value.length);
    let count = 0;
    for (const [at, item] of value.entries()) {
      if (!isValid(inner, item, run)) continue;
      count++;
      evaluated?.add(at);
    }
    return count >= least && count <= most;
  };
}

function hasUniqueItems(value: Items, run: Run): boolean {
  const seen = new Set<unknown>();
  const check = (at: number): boolean => {
    run.spend(1);
    const item = value[at]!;
    // Text is quoted by it, so that none is equal to that of an object.
    const key = typeof item === 'object' || typeof item === 'string' ? run.keyOf(item) : item;
    if (seen.has(key)) return run.fail('value', () => describeExpectation('uniqueItems', true), value);
    seen.add(key);
    return true;
  };
  if (run.defer(value.length, check)) return true;
  for (let at = 0; at < value.length; at++) if (!check(at)) return false;
  return true;
}
