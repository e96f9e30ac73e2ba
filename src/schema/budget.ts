// Limits the work of validation, so that no schema and no value keeps the event loop busy (TOOL-23).

/** Steps that a validation may take without a pause: a few milliseconds. */
export const MAX_STEPS = 50_000;
/** Steps that a validation of many entries may take in all. */
export const MAX_STEPS_IN_ALL = 20_000_000;
// Steps after which further validations wait for a turn of the event loop.
const MAX_STEPS_PER_TURN = 25_000;

/** Thrown when a validation needs more steps than it may take. */
export class OverBudget extends Error {}

export class Budget {
  left = MAX_STEPS;

  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new OverBudget();
  }
}

let spent = 0;
let last: Promise<void> | undefined;

export function countSteps(steps: number): void {
  spent += steps;
}

/** Returns a promise to wait for before the next validation, undefined if it may run at once. */
export function nextTurn(): Promise<void> | undefined {
  if (spent < MAX_STEPS_PER_TURN && last === undefined) return undefined;
  const turn = (last ?? Promise.resolve()).then(
    () =>
      new Promise<void>((resolve) => {
        setImmediate(() => {
          spent = 0;
          if (last === turn) last = undefined;
          resolve();
        });
      }),
  );
  last = turn;
  return turn;
}
