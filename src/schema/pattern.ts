// Matches the regular expressions of schemas within a budget: natively, or with an automaton that reads the value once.

import { type Branches, type Part, parsePattern, type Test } from './pattern-syntax.js';
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
        automaton ??= branches === undefined ? null : toAutomaton(branches);
        if (automaton !== null) return search(automaton, value, { from: 0, anchored }, budget);
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

interface State {
  readonly kind: 'accept' | 'character' | 'split' | 'assert';
  next: number;
  /** The second successor of a split. */
  other?: number;
  readonly test?: Test;
  readonly holds?: Assertion;
}

type Assertion = (value: string, at: number, budget: Budget) => boolean;

interface Automaton {
  readonly states: readonly State[];
  readonly start: number;
}

// Null if it would be too large, or needs what an automaton cannot do.
function toAutomaton(branches: Branches): Automaton | null {
  const states: State[] = [{ kind: 'accept', next: 0 }];
  const add = (state: State): number => states.push(state) - 1;
  const addBranches = (all: Branches, after: number): number =>
    all
      .map((parts) => parts.reduceRight((next, part) => addPart(part, next), after))
      .reduce((first, second) => add({ kind: 'split', next: first, other: second }));
  // Built from the end, so that each state knows its successor.
  const addPart = (part: Part, after: number): number => {
    const { min, max } = part;
    let next = after;
    if (max === Number.POSITIVE_INFINITY) {
      const loop = add({ kind: 'split', next: after });
      states[loop]!.other = addOnce(part, loop);
      next = loop;
    } else {
      for (let count = min; count < max; count++)
        next = add({ kind: 'split', next: addOnce(part, next), other: after });
    }
    for (let count = 0; count < min; count++) next = addOnce(part, next);
    return next;
  };
  const addOnce = ({ what }: Part, next: number): number => {
    if (states.length > MAX_STATES || what.kind === 'other') throw TOO_LARGE;
    if (what.kind === 'group') return addBranches(what.branches, next);
    if (what.kind === 'character') return add({ kind: 'character', test: what.test, next });
    return add({ kind: 'assert', holds: toAssertion(what), next });
  };
  try {
    const start = addBranches(branches, 0);
    return { states, start };
  } catch (error) {
    if (error === TOO_LARGE) return null;
    throw error;
  }
}

const TOO_LARGE = new Error('too large');

function toAssertion(what: Exclude<Part['what'], { kind: 'group' | 'character' | 'other' }>): Assertion {
  if (what.kind === 'start') return (_, at) => at === 0;
  if (what.kind === 'end') return (value, at) => at === value.length;
  if (what.kind === 'boundary') return (value, at) => (isWord(value, at - 1) !== isWord(value, at)) !== what.negative;
  const inner = toAutomaton(what.branches);
  if (inner === null) throw TOO_LARGE;
  return (value, at, budget) => search(inner, value, { from: at, anchored: true }, budget) !== what.negative;
}

function isWord(value: string, at: number): boolean {
  return /\w/.test(value.charAt(at));
}

// Follows all paths at once: each state is entered at most once for each character.
function search(
  { states, start }: Automaton,
  value: string,
  { from, anchored }: { readonly from: number; readonly anchored: boolean },
  budget: Budget,
): boolean {
  const seen = new Int32Array(states.length).fill(-1);
  let active: number[] = [];
  let following: number[] = [];
  const waiting: number[] = [];
  budget.spend(1 + states.length / 16);
  // Returns whether the end was reached.
  const enter = (first: number, at: number): boolean => {
    waiting.push(first);
    while (waiting.length > 0) {
      const state = waiting.pop()!;
      if (seen[state] === at) continue;
      seen[state] = at;
      budget.spend(3);
      const { kind, next, other, holds } = states[state]!;
      if (kind === 'accept') return true;
      if (kind === 'character') following.push(state);
      else if (kind === 'split') waiting.push(other!, next);
      else if (holds!(value, at, budget)) waiting.push(next);
    }
    return false;
  };
  if (enter(start, from)) return true;
  for (let at = from; at < value.length; ) {
    if (anchored && following.length === 0) return false;
    const character = value.codePointAt(at)!;
    at += character > 0xffff ? 2 : 1;
    [active, following] = [following, active];
    following.length = 0;
    budget.spend(active.length);
    for (const state of active) if (states[state]!.test!(character) && enter(states[state]!.next, at)) return true;
    if (!anchored && enter(start, at)) return true;
  }
  return false;
}
