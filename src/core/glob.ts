// Glob matcher: compiles a pattern into an automaton that reads a value once (SEL-5).

import { type GlobItem, type PatternContext, parseGlob, selectorError, type Test } from './glob-syntax.js';

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

// Kinds of states, as numbers in a flat array for speed.
const ACCEPT = 0;
const EXACT = 1;
const TEST = 2;
const RUN = 3;
// A `*` outside braces: every match passes through it.
const GATE = 4;
const CHOOSE = 5;

const MAX_STATES = 5000;
// Steps of one match, a step being a state that reads a character: enough for ordinary patterns and any value.
const MAX_STEPS = 500_000;
const MAX_STEPS_PER_CHARACTER = 8;
const MAX_STEPS_IN_ALL = 4_000_000;
// What it takes to begin a match.
const START_STEPS = 16;

interface Automaton {
  readonly does: number[];
  /** The next state. */
  readonly next: number[];
  /** The character of an exact state. */
  readonly character: number[];
  readonly tests: (Test | undefined)[];
  readonly choices: (readonly number[] | undefined)[];
}

/** Compiles a pattern. Throws `invalid_definition` with the column of the error. */
export function compileGlob(pattern: string, context: PatternContext = { text: pattern, offset: 0 }): Glob {
  const automaton: Automaton = { does: [], next: [], character: [], tests: [], choices: [] };
  addState(automaton, ACCEPT, 0);
  const items = parseGlob(pattern, context);
  const start = addSequence(items, 0, automaton, GATE);
  if (automaton.does.length > MAX_STATES) {
    const problem = `a pattern with more than ${MAX_STATES} alternatives and characters`;
    throw selectorError(context, 0, problem, 'use shorter ranges, or several selectors');
  }
  const literal = longestLiteral(items);
  return {
    pattern,
    matches: (value, undecided = false, budget) => {
      // Most values of most calls do not even contain it, which is found much faster.
      if (literal === '' || value.includes(literal)) return run(automaton, start, value, budget) ?? undecided;
      if (budget === undefined) return false;
      budget.steps -= 1 + (value.length >> 5);
      return budget.steps < 0 ? undecided : false;
    },
  };
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

function addState(automaton: Automaton, does: number, next: number, item?: GlobItem): number {
  automaton.character.push(item?.kind === 'exact' ? item.character : -1);
  automaton.tests.push(item?.kind === 'one' ? item.test : undefined);
  automaton.choices.push(undefined);
  automaton.next.push(next);
  return automaton.does.push(does) - 1;
}

// Built from the end, so that every state knows its successor; later parts of the pattern have lower numbers.
function addSequence(items: readonly GlobItem[], after: number, automaton: Automaton, star: number): number {
  let next = after;
  for (const item of items.toReversed()) {
    if (item.kind === 'choice') {
      const branches = item.choices.map((choice) => addSequence(choice, next, automaton, RUN));
      next = addState(automaton, CHOOSE, next);
      automaton.choices[next] = branches;
    } else {
      const does = item.kind === 'run' ? star : item.kind === 'exact' ? EXACT : TEST;
      next = addState(automaton, does, next, item);
    }
  }
  return next;
}

// Undefined if it takes too many steps.
function run(automaton: Automaton, start: number, value: string, budget?: MatchBudget): boolean | undefined {
  const { does, next, character, tests, choices } = automaton;
  if (budget !== undefined) {
    budget.steps -= START_STEPS + (does.length >> 3);
    if (budget.steps < 0) return undefined;
  }
  const seen = new Int32Array(does.length).fill(-1);
  let active = new Int32Array(does.length);
  let following = new Int32Array(does.length);
  const waiting: number[] = [];
  let count = 0;
  let step = 0;
  // States before the latest gate reached are dropped, so that `*a*a*a*b` has few active states.
  let gate = does.length;
  const enter = (from: number): void => {
    let state = from;
    for (;;) {
      if (seen[state] !== step) {
        seen[state] = step;
        const kind = does[state]!;
        if (kind === CHOOSE) waiting.push(...choices[state]!);
        else following[count++] = state;
        if (kind === GATE && state < gate) gate = state;
        if (kind === RUN || kind === GATE) waiting.push(next[state]!);
      }
      if (waiting.length === 0) return;
      state = waiting.pop()!;
    }
  };
  const own = Math.max(MAX_STEPS, Math.min(MAX_STEPS_PER_CHARACTER * value.length, MAX_STEPS_IN_ALL));
  let steps = Math.min(own, budget?.steps ?? own);
  enter(start);
  for (let at = 0; at < value.length && count > 0; ) {
    const read = value.codePointAt(at)!;
    at += read > 0xffff ? 2 : 1;
    [active, following] = [following, active];
    const last = count;
    steps -= last;
    if (budget !== undefined) budget.steps -= last;
    if (steps < 0) return undefined;
    count = 0;
    step++;
    for (let index = 0; index < last; index++) {
      const state = active[index]!;
      if (state > gate) continue;
      const kind = does[state]!;
      if (kind === EXACT) {
        if (character[state] === read) enter(next[state]!);
      } else if (kind === TEST) {
        if (tests[state]!(read)) enter(next[state]!);
      } else if (kind !== ACCEPT) enter(state);
    }
  }
  return count > 0 && seen[0] === step;
}
