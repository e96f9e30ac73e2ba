// One validation of a value: its budget (TOOL-23), where it is, and the faults found so far.

import { nextTurn } from '../core/async.js';
import { canonicalJson, describeValue, type Json, toPointer } from '../core/json.js';
import type { Fault } from '../core/schema.js';

/** Steps that a validation may take without a pause: a few milliseconds. */
export const MAX_STEPS = 50_000;
/** Steps that a validation of many entries may take in all. */
export const MAX_STEPS_IN_ALL = 20_000_000;
// Steps after which further validations wait for a turn of the event loop.
const MAX_STEPS_PER_TURN = 25_000;

// Parts of a schema that are compiled without a pause: a few milliseconds.
const MAX_COMPILED = 1000;

/** Thrown when a validation needs more steps than it may take. */
export class OverBudget extends Error {}

/** Thrown when enough was compiled for one turn of the event loop: the validation begins again with what there is. */
export class CompiledEnough extends Error {}

export class Budget {
  left = MAX_STEPS;

  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new OverBudget();
  }
}

let spent = 0;
let ending: Promise<void> | undefined;

export function countSteps(steps: number): void {
  spent += steps;
}

/** Makes the next validation wait for a turn of the event loop. */
export function endTurn(): void {
  spent = MAX_STEPS_PER_TURN;
}

/** Whether the next validation has to wait. Asked again after each wait: others waited for the same turn. */
export function isTurnOver(): boolean {
  return spent >= MAX_STEPS_PER_TURN;
}

/** Waits for the next turn of the event loop. */
export function waitForTurn(): Promise<void> {
  ending ??= nextTurn().then(() => {
    spent = 0;
    ending = undefined;
  });
  return ending;
}

/** Names of properties and indexes of items that a schema covers; `ALL_ITEMS` for every item. */
export type Evaluated = Set<string | number>;
export const ALL_ITEMS = Number.POSITIVE_INFINITY;

const MAX_FAULTS = 100;
const MAX_FAULT_LENGTH = 1000;
// Fewer entries are validated at once.
const MIN_DEFERRED = 100;
// Nesting of schemas, which each take a part of the stack.
const MAX_DEPTH = 500;

/** Returns whether a value is valid. Reports faults to the run; adds what it covers to `evaluated`, if given. */
export type Visit = (value: Json, run: Run, evaluated: Evaluated | undefined) => boolean;

/** Compiles subschemas. */
export interface Compiler {
  visit(schema: unknown): Visit;
  /** Compiles an object of schemas. */
  visits(schemas: unknown): readonly (readonly [name: string, visit: Visit])[];
}

/** Applies all checks, so that all faults are reported; only up to the first failure where faults do not matter. */
export function every<T>(list: readonly T[], check: (entry: T) => boolean, run: Run): boolean {
  let valid = true;
  for (const entry of list) {
    if (check(entry)) continue;
    valid = false;
    if (run.quiet > 0) break;
  }
  return valid;
}

/** Validates without reporting faults. */
export function isValid(visit: Visit, value: Json, run: Run, evaluated?: Evaluated): boolean {
  run.quiet++;
  const valid = visit(value, run, evaluated);
  run.quiet--;
  return valid;
}

/** Validates a property or an item. */
export function visitChild(visit: Visit, value: Json, step: string | number, run: Run): boolean {
  run.path.push(step);
  const valid = visit(value, run, undefined);
  run.path.pop();
  return valid;
}

/** Entries of an array or object that are validated after everything else, with pauses. */
interface Deferred {
  readonly count: number;
  /** Returns whether the entry of this number is valid. */
  readonly check: (entry: number) => boolean;
  readonly path: readonly (string | number)[];
}

export class Run extends Budget {
  /** The path to the value that is being validated. */
  readonly path: (string | number)[] = [];
  /** Above 0 where a failure is not a fault of the value: in a branch of a union, for example. */
  quiet = 0;
  readonly deferred: Deferred[] = [];
  // Created by the first fault: most values have none.
  private faults: Map<string, Fault> | undefined;
  private readonly undeclared: { readonly path: string; readonly name: string }[] = [];
  private depth = 0;
  private compiled = 0;

  /** Counts a part of the schema that is compiled for this value. */
  countCompiled(): void {
    if (++this.compiled > MAX_COMPILED) throw new CompiledEnough();
  }

  enter(steps: number): void {
    this.spend(steps);
    if (++this.depth > MAX_DEPTH) throw new OverBudget();
  }

  /** Starts again at another value, with a new budget. */
  restart(path: readonly (string | number)[]): void {
    this.left = MAX_STEPS;
    this.depth = 0;
    this.compiled = 0;
    this.path.splice(0, this.path.length, ...path);
  }

  leave(): void {
    this.depth--;
  }

  /** Adds a fault of the value here, or of a property of it; returns false. */
  fail(kind: Fault['kind'], expected: () => string, value: Json | undefined, property?: string): false {
    if (this.quiet > 0 || this.isFull) return false;
    const path = this.pointer(property);
    const text = expected();
    const fault = {
      kind,
      path,
      expected: text.length > MAX_FAULT_LENGTH ? `${text.slice(0, MAX_FAULT_LENGTH)}…` : text,
      got: value === undefined ? 'nothing' : describeValue(value),
    };
    this.faults ??= new Map();
    this.faults.set(`${path}\n${fault.expected}`, fault);
    return false;
  }

  /** Leaves entries for later, if there are many and nothing depends on whether they are valid; returns whether it did. */
  defer(count: number, check: Deferred['check']): boolean {
    if (this.quiet > 0 || count < MIN_DEFERRED) return false;
    this.deferred.push({ count, check, path: [...this.path] });
    return true;
  }

  /** Adds an undeclared property. */
  failUndeclared(name: string): false {
    if (this.quiet === 0 && this.undeclared.length < MAX_FAULTS)
      this.undeclared.push({ path: this.pointer(name), name });
    return false;
  }

  /** Returns a text that is equal for equal values. */
  keyOf(value: Json): string {
    this.measure(value);
    return canonicalJson(value);
  }

  get isFull(): boolean {
    return this.faults !== undefined && this.faults.size >= MAX_FAULTS;
  }

  result(value: Json): Fault[] {
    const found = [...(this.faults?.values() ?? [])];
    for (const { path, name } of this.undeclared) {
      // The faults in the property say enough.
      if (found.some((fault) => fault.path === path || fault.path.startsWith(`${path}/`))) continue;
      found.push({ kind: 'unknown', path, expected: 'no such parameter', got: `undeclared "${name}"` });
    }
    return found.length > 0
      ? found
      : [{ kind: 'value', path: '', expected: 'a value that fits the schema', got: describeValue(value) }];
  }

  private pointer(property?: string): string {
    return toPointer(property === undefined ? this.path : [...this.path, property]);
  }

  // Spends what it takes to write the value as text.
  private measure(value: Json): void {
    this.enter(typeof value === 'string' ? 5 + value.length / 8 : 5);
    if (Array.isArray(value)) for (const child of value) this.measure(child);
    else if (typeof value === 'object' && value !== null)
      for (const [key, child] of Object.entries(value)) {
        this.spend(10 + key.length / 8);
        this.measure(child);
      }
    this.leave();
  }
}

/** The fault of a value that takes too long to validate. */
export function overBudget(value: Json): Fault {
  return {
    kind: 'value',
    path: '',
    expected: `a value that can be validated within ${MAX_STEPS} steps (too large or too complex for its schema)`,
    got: describeValue(value),
  };
}
