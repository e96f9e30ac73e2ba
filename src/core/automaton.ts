// Automata: all paths of a glob, a URI template or a pattern of a schema are followed at once, so a value is read once.

/** Whether a code point matches. */
export type Test = (character: number) => boolean;

/** One part of a pattern, repeated `min` to `max` times. */
export interface Part {
  readonly min: number;
  readonly max: number;
  readonly what:
    | { readonly kind: 'character'; readonly test: Test }
    | { readonly kind: 'start' }
    | { readonly kind: 'end' }
    | { readonly kind: 'boundary'; readonly negative: boolean }
    | { readonly kind: 'group'; readonly branches: Branches }
    | { readonly kind: 'ahead'; readonly negative: boolean; readonly branches: Branches }
    /** Backreferences and lookbehind, which cannot be matched in steps. */
    | { readonly kind: 'other'; readonly branches: Branches };
  /** It reads any characters, and every match passes through it: the parts before it no longer matter. */
  readonly isGate?: boolean;
}

export type Branches = readonly (readonly Part[])[];

/** Counts steps; throws if they are too many. */
export interface StepCounter {
  spend(steps: number): void;
}

type Assertion = (value: string, at: number, counter: StepCounter) => boolean;

interface State {
  /** What it reads before the next states are entered; without it they are entered at once. */
  readonly test?: Test;
  readonly holds?: Assertion;
  readonly next: number[];
  readonly isGate?: boolean | undefined;
}

/** States, of which later parts of the pattern have lower numbers; the first one accepts. */
export interface Automaton {
  readonly states: readonly State[];
  readonly start: number;
}

const TOO_LARGE = new Error('too large');

/** Returns undefined if it would have too many states, or needs what an automaton cannot do. */
export function toAutomaton(branches: Branches, maxStates: number): Automaton | undefined {
  const states: State[] = [{ next: [] }];
  const add = (state: State): number => {
    if (states.length >= maxStates) throw TOO_LARGE;
    return states.push(state) - 1;
  };
  // Built from the end, so that each state knows its successor.
  const addBranches = (all: Branches, after: number): number => {
    const starts = all.map((parts) => parts.reduceRight((next, part) => addPart(part, next), after));
    return starts.length === 1 ? starts[0]! : add({ next: starts });
  };
  const addPart = (part: Part, after: number): number => {
    const { min, max } = part;
    let next = after;
    if (max === Number.POSITIVE_INFINITY) {
      const loop = add({ next: [after] });
      states[loop]!.next.push(addOnce(part, loop));
      next = loop;
    } else for (let count = min; count < max; count++) next = add({ next: [addOnce(part, next), after] });
    for (let count = 0; count < min; count++) next = addOnce(part, next);
    return next;
  };
  const addOnce = ({ what, isGate }: Part, next: number): number => {
    if (what.kind === 'other') throw TOO_LARGE;
    if (what.kind === 'group') return addBranches(what.branches, next);
    if (what.kind === 'character') return add({ test: what.test, next: [next], isGate });
    return add({ holds: toAssertion(what, maxStates), next: [next] });
  };
  try {
    return { start: addBranches(branches, 0), states };
  } catch (error) {
    if (error === TOO_LARGE) return undefined;
    throw error;
  }
}

function toAssertion(
  what: Exclude<Part['what'], { kind: 'group' | 'character' | 'other' }>,
  maxStates: number,
): Assertion {
  if (what.kind === 'start') return (_, at) => at === 0;
  if (what.kind === 'end') return (value, at) => at === value.length;
  if (what.kind === 'boundary') return (value, at) => (isWord(value, at - 1) !== isWord(value, at)) !== what.negative;
  const inner = toAutomaton(what.branches, maxStates);
  if (inner === undefined) throw TOO_LARGE;
  return (value, at, counter) => search(inner, value, counter, at, true) !== what.negative;
}

function isWord(value: string, at: number): boolean {
  return /\w/.test(value.charAt(at));
}

/** Whether a match begins at a position, or with `anchored` false there or later. */
export function search(
  { states, start }: Automaton,
  value: string,
  counter: StepCounter,
  from = 0,
  anchored = true,
): boolean {
  // Each state is entered at most once for each character.
  const seen = new Int32Array(states.length).fill(-1);
  let gate = states.length;
  let active: number[] = [];
  let following: number[] = [];
  const waiting: number[] = [];
  counter.spend(1 + states.length / 16);
  // Returns whether the end was reached.
  const enter = (first: number, at: number): boolean => {
    waiting.push(first);
    while (waiting.length > 0) {
      const state = waiting.pop()!;
      if (seen[state] === at) continue;
      seen[state] = at;
      counter.spend(3);
      if (state === 0) return true;
      const { test, holds, next, isGate } = states[state]!;
      if (isGate === true) gate = Math.min(gate, state);
      if (test !== undefined) following.push(state);
      else if (holds === undefined || holds(value, at, counter)) for (const one of next) waiting.push(one);
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
    counter.spend(active.length);
    for (const state of active) {
      const { test, next } = states[state]!;
      if (state <= gate && test!(character) && enter(next[0]!, at)) return true;
    }
    if (!anchored && enter(start, at)) return true;
  }
  return false;
}
