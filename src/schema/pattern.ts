// Matches the regular expressions of schemas within a budget: natively, or with an automaton that reads the value once.

import { type Automaton, type Branches, search, toAutomaton } from '../core/automaton.js';
import { parsePattern } from './pattern-syntax.js';
import { type Budget, OverBudget } from './run.js';

export interface Pattern {
  /** Whether the expression matches somewhere in the value. Throws `OverBudget`. */
  matches(value: string, budget: Budget): boolean;
}

const MAX_STATES = 20_000;
// Steps of the native engine that cost as much as one step of a budget.
const NATIVE_STEPS = 100;
const MAX_NATIVE_STEPS = 5_000_000;
const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

export function compilePattern(source: string): Pattern {
  const expression = new RegExp(source, 'u');
  const branches = parsePattern(source);
  const ways = branches && waysOf(branches);
  const anchored = branches !== undefined && isAnchored(branches);
  const size = branches === undefined ? 0 : sizeOf(branches);
  const mayBeInPair = /\\b|\(\?!/i.test(source);
  let automaton: Automaton | null | undefined;
  return {
    matches(value, budget) {
      const native = ways === undefined ? Number.POSITIVE_INFINITY : nativeSteps(size, ways, anchored, value);
      const isCheap = native <= Math.min(MAX_NATIVE_STEPS, budget.left * NATIVE_STEPS);
      // V8 finds \B and (?!…) between the halves of a surrogate pair, where there is no position.
      if (!isCheap || (mayBeInPair && PAIR.test(value))) {
        automaton ??= (branches && toAutomaton(branches, MAX_STATES)) ?? null;
        if (automaton !== null) return search(automaton, value, budget, 0, anchored);
        if (!isCheap) throw new OverBudget();
      }
      budget.spend(native / NATIVE_STEPS);
      return expression.test(value);
    },
  };
}

function nativeSteps(size: number, ways: readonly number[], anchored: boolean, value: string): number {
  let steps = size * (anchored ? 1 : value.length + 1);
  for (const spread of ways) {
    steps *= Math.min(spread, value.length) + 1;
    if (steps > MAX_NATIVE_STEPS) return steps;
  }
  return steps + value.length;
}

// In how many ways each part can match: the product limits how often the native engine backtracks. Undefined if there is
// no such limit, as for `(a|b)*`.
function waysOf(branches: Branches): readonly number[] | undefined {
  const all: number[] = branches.length > 1 ? [branches.length - 1] : [];
  for (const { what, min, max } of branches.flat()) {
    const inner = 'branches' in what ? waysOf(what.branches) : [];
    if (inner === undefined) return undefined;
    if (max !== min) all.push(max - min);
    if (max > 1 && inner.length > 0) {
      if (max > 8) return undefined;
      for (let count = 1; count < max; count++) all.push(...inner);
    }
    all.push(...inner);
  }
  return all;
}

// The number of characters that a match has at least, over all branches.
function sizeOf(branches: Branches): number {
  let size = 0;
  for (const { what, min } of branches.flat()) {
    if (what.kind === 'start' || what.kind === 'end') continue;
    size += Math.max(1, min) * ('branches' in what ? sizeOf(what.branches) : 1);
  }
  return Math.max(1, size);
}

function isAnchored(branches: Branches): boolean {
  return branches.every(([first]) => {
    if (first === undefined || first.min === 0) return false;
    return first.what.kind === 'start' || (first.what.kind === 'group' && isAnchored(first.what.branches));
  });
}
