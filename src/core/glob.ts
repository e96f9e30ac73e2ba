// Matches globs: a pattern becomes an automaton that reads a value once (SEL-5).

import { type Automaton, type Part, search, toAutomaton } from './automaton.js';
import { type GlobItem, type PatternContext, parseGlob, selectorError } from './glob-syntax.js';
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
// Steps of one match, of a few nanoseconds each: enough for ordinary patterns and any value.
const MAX_STEPS = 2_000_000;
const MAX_STEPS_PER_CHARACTER = 32;
const MAX_STEPS_IN_ALL = 16_000_000;
// What it takes to begin a match.
const START_STEPS = 64;

/** Compiles a pattern. Throws `invalid_definition` with the column of the error. */
export function compileGlob(pattern: string, context: PatternContext = { text: pattern, offset: 0 }): Glob {
  const items = parseGlob(pattern, context);
  const automaton = toWhole(items);
  if (automaton === undefined) {
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
      budget.steps -= 4 + (value.length >> 3);
      return budget.steps < 0 ? undecided : false;
    },
  };
}

/** Whether a value matches the items of a pattern; false if the budget is not enough. */
export function matchesItems(items: readonly GlobItem[], value: string, budget: MatchBudget): boolean {
  const automaton = toWhole(items);
  return automaton !== undefined && (run(automaton, value, budget) ?? false);
}

const END: Part = { min: 1, max: 1, what: { kind: 'end' } };

function toWhole(items: readonly GlobItem[]): Automaton | undefined {
  return toAutomaton([[...items, END]], MAX_STATES);
}

// Returns the longest text that every match contains.
function longestLiteral(items: readonly GlobItem[]): string {
  const texts = [''];
  for (const { exact } of items) {
    if (exact !== undefined) texts.push(texts.pop()! + String.fromCodePoint(exact));
    else texts.push('');
  }
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest));
}

const TOO_LONG = new Error('too many steps');

// Undefined if it takes too many steps.
function run(automaton: Automaton, value: string, budget?: MatchBudget): boolean | undefined {
  let left = Math.max(MAX_STEPS, Math.min(MAX_STEPS_PER_CHARACTER * value.length, MAX_STEPS_IN_ALL));
  const spend = (steps: number): void => {
    left -= steps;
    if (budget !== undefined) budget.steps -= steps;
    if (left < 0 || (budget !== undefined && budget.steps < 0)) throw TOO_LONG;
  };
  try {
    spend(START_STEPS);
    return search(automaton, value, { spend });
  } catch (error) {
    if (error === TOO_LONG) return undefined;
    throw error;
  }
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
