// The glob matcher: a pattern becomes a small automaton that reads a value once, whatever the pattern (SEL-5).

import { type GlobItem, type PatternContext, parseGlob, type Test } from './glob-syntax.js';

export interface Glob {
  readonly pattern: string;
  /** Whether the whole value matches. `*` matches any run of characters, `/` and newlines included. */
  matches(value: string): boolean;
}

// What a state does: one character, a run of any characters, a choice of ways on, or the end.
type State =
  | { readonly does: 'read'; readonly test: Test; readonly next: number }
  | { readonly does: 'run'; readonly next: number; readonly alone: boolean }
  | { readonly does: 'choose'; readonly next: readonly number[] }
  | { readonly does: 'accept' };

/** Compiles a pattern; throws `invalid_definition` with the column where it is no pattern. */
export function compileGlob(pattern: string, context: PatternContext = { text: pattern, offset: 0 }): Glob {
  const states: State[] = [{ does: 'accept' }];
  const start = addSequence(parseGlob(pattern, context), 0, states, true);
  return { pattern, matches: (value) => runStates(states, start, value) };
}

// Built from the end, so that every state knows its successor; a later state of the pattern has a lower number.
function addSequence(items: readonly GlobItem[], after: number, states: State[], top: boolean): number {
  let next = after;
  for (const item of items.toReversed()) next = addItem(item, next, states, top);
  return next;
}

function addItem(item: GlobItem, next: number, states: State[], top: boolean): number {
  if (item.kind === 'one') return states.push({ does: 'read', test: item.test, next }) - 1;
  if (item.kind === 'run') return states.push({ does: 'run', next, alone: top }) - 1;
  const ways = item.choices.map((choice) => addSequence(choice, next, states, false));
  return states.push({ does: 'choose', next: ways }) - 1;
}

function runStates(states: readonly State[], start: number, value: string): boolean {
  const seen = new Int32Array(states.length).fill(-1);
  let active: number[] = [];
  let following: number[] = [];
  const waiting: number[] = [];
  const enter = (from: number, into: number[], step: number): void => {
    waiting.push(from);
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (seen[at] === step) continue;
      seen[at] = step;
      const state = states[at]!;
      if (state.does === 'choose') waiting.push(...state.next);
      else into.push(at);
      if (state.does === 'run') waiting.push(state.next);
    }
  };
  enter(start, active, 0);
  let step = 0;
  for (let at = 0; at < value.length && active.length > 0; ) {
    const character = value.codePointAt(at)!;
    at += character > 0xffff ? 2 : 1;
    step++;
    following.length = 0;
    const floor = lastRun(states, active);
    for (const index of active) {
      const state = states[index]!;
      if (index > floor) continue;
      if (state.does === 'read' && state.test(character)) enter(state.next, following, step);
      else if (state.does === 'run') enter(index, following, step);
    }
    [active, following] = [following, active];
  }
  return active.includes(0);
}

// Every way to the end leads through a run outside braces, and a run once reached stays: what stands before it
// can add nothing more. So `*a*a*a*b` keeps two or three states, not all.
function lastRun(states: readonly State[], active: readonly number[]): number {
  let floor = states.length;
  for (const index of active) {
    const state = states[index]!;
    if (state.does === 'run' && state.alone && index < floor) floor = index;
  }
  return floor;
}
