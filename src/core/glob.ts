// Glob matcher: compiles a pattern into an automaton that reads a value once (SEL-5).

import { type GlobItem, type PatternContext, parseGlob, selectorError, type Test } from './glob-syntax.js';
import type { ToolFilter } from './origin.js';

export interface Glob {
  readonly pattern: string;
  /**
   * Whether the whole value matches. `*` matches any characters, including `/` and newlines. Returns `undecided` if
   * matching takes too long, alone or together with what the budget was used for before.
   */
  matches(value: string, undecided?: boolean, budget?: MatchBudget): boolean;
}

/** Steps that are left for several matches together. */
export interface MatchBudget {
  steps: number;
}

const MAX_STATES = 5000;
// Steps of one match, a step being a state that reads a character: enough for ordinary patterns and any value.
const MAX_STEPS = 500_000;
const MAX_STEPS_PER_CHARACTER = 8;
const MAX_STEPS_IN_ALL = 4_000_000;
// What it takes to begin a match.
const START_STEPS = 16;

interface State {
  /** Later parts of the pattern have lower numbers. */
  readonly order: number;
  /** Which characters it reads; undefined for none. */
  readonly reads?: Test;
  /** The state after a character; itself by default. */
  readonly next?: State;
  /** States that are entered together with it. */
  readonly also: readonly State[];
  /** A `*` outside braces: every match passes through it. */
  readonly isGate?: boolean;
  /** The moment at which it was last entered. */
  seen: number;
}

/** Compiles a pattern. Throws `invalid_definition` with the column of the error. */
export function compileGlob(pattern: string, context: PatternContext = { text: pattern, offset: 0 }): Glob {
  const items = parseGlob(pattern, context);
  const automaton = toAutomaton(items);
  if (automaton.size > MAX_STATES) {
    const problem = `a pattern with more than ${MAX_STATES} alternatives and characters`;
    throw selectorError(context, 0, problem, 'use shorter ranges, or several selectors');
  }
  const literal = longestLiteral(items);
  return {
    pattern,
    matches: (value, undecided = false, budget) => {
      // Most values of most calls do not contain it.
      if (literal === '' || value.includes(literal)) return run(automaton, value, budget) ?? undecided;
      if (budget === undefined) return false;
      budget.steps -= 1 + (value.length >> 5);
      return budget.steps < 0 ? undecided : false;
    },
  };
}

/** Whether a value matches the items of a pattern; false if the budget is not enough. */
export function matchesItems(items: readonly GlobItem[], value: string, budget: MatchBudget): boolean {
  return run(toAutomaton(items), value, budget) ?? false;
}

function toAutomaton(items: readonly GlobItem[]): Automaton {
  const accept: State = { order: 0, also: [], seen: 0 };
  const states = [accept];
  const start = addSequence(items, accept, states, true);
  return { start, accept, size: states.length };
}

// Returns the longest text that every match contains.
function longestLiteral(items: readonly GlobItem[]): string {
  const texts = [''];
  for (const item of items) {
    if (item.kind === 'exact') texts.push(texts.pop()! + String.fromCodePoint(item.character));
    else texts.push('');
  }
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest));
}

// Built from the end, so that every state knows its successor.
function addSequence(items: readonly GlobItem[], after: State, states: State[], isOutside: boolean): State {
  let next = after;
  for (const item of items.toReversed()) {
    const also =
      item.kind === 'choice'
        ? item.choices.map((choice) => addSequence(choice, next, states, false))
        : item.kind === 'run'
          ? [next]
          : [];
    const isGate = item.kind === 'run' && item.test === undefined && isOutside;
    next = { order: states.length, ...toReading(item, next), also, isGate, seen: 0 };
    states.push(next);
  }
  return next;
}

function toReading(item: GlobItem, next: State): Pick<State, 'reads' | 'next'> {
  switch (item.kind) {
    case 'exact':
      return { reads: (character) => character === item.character, next };
    case 'one':
      return { reads: item.test, next };
    case 'run':
      return { reads: item.test ?? (() => true) };
    case 'choice':
      return {};
  }
}

interface Automaton {
  readonly start: State;
  readonly accept: State;
  readonly size: number;
}

// Counts the characters that were read by all matches, so that `seen` needs no reset.
let moment = 0;

// Undefined if it takes too many steps.
function run({ start, accept, size }: Automaton, value: string, budget?: MatchBudget): boolean | undefined {
  if (budget !== undefined) {
    budget.steps -= START_STEPS + (size >> 3);
    if (budget.steps < 0) return undefined;
  }
  // States before the latest gate reached are dropped, so that `*a*a*a*b` has few active states.
  let gate = size;
  let entered: State[] = [];
  const enter = (from: State): void => {
    const waiting = [from];
    for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
      if (state.seen === moment) continue;
      state.seen = moment;
      if (state.reads !== undefined) entered.push(state);
      if (state.isGate) gate = Math.min(gate, state.order);
      waiting.push(...state.also);
    }
  };
  const own = Math.max(MAX_STEPS, Math.min(MAX_STEPS_PER_CHARACTER * value.length, MAX_STEPS_IN_ALL));
  let steps = Math.min(own, budget?.steps ?? own);
  moment++;
  enter(start);
  for (const character of value) {
    const active = entered;
    if (active.length === 0) return false;
    steps -= active.length;
    if (budget !== undefined) budget.steps -= active.length;
    if (steps < 0) return undefined;
    entered = [];
    moment++;
    const read = character.codePointAt(0)!;
    for (const state of active) if (state.order <= gate && state.reads!(read)) enter(state.next ?? state);
  }
  return accept.seen === moment;
}

/** Returns a function that says whether one of the names of something is included, and none is excluded. */
export function createNameFilter({ include, exclude }: ToolFilter = {}): (names: readonly string[]) => boolean {
  const toMatcher = (patterns: readonly string[]) => {
    const globs = patterns.map((pattern) => compileGlob(pattern));
    return (names: readonly string[]): boolean => globs.some((glob) => names.some((name) => glob.matches(name)));
  };
  const isIncluded = include && toMatcher(include);
  const isExcluded = exclude && toMatcher(exclude);
  return (names) => isIncluded?.(names) !== false && isExcluded?.(names) !== true;
}
