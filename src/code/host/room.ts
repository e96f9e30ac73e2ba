// Limits of what is kept for programs: of one caller, and of all (COD-15).

/** A file that is kept for a program. */
export interface Kept {
  /** Identifies the caller. */
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly saved: number;
  readonly bytes: number;
}

const MIB = 1024 * 1024;
const OF_CALLER = { count: 64, bytes: 64 * MIB };
const OF_ALL = { count: 512, bytes: 256 * MIB };

/**
 * Returns what has to be removed: the oldest of a caller that has too many, then, if all together are too many, the
 * oldest of the caller that has most. So no caller loses something while another has more.
 */
export function findSurplus<T extends Kept>(kept: readonly T[]): T[] {
  const callers = new Map<string, T[]>();
  for (const one of [...kept].sort((a, b) => a.saved - b.saved))
    callers.set(one.owner, [...(callers.get(one.owner) ?? []), one]);
  const left = [...callers.values()];
  const surplus: T[] = [];
  for (const own of left) while (own.length > OF_CALLER.count || sum(own) > OF_CALLER.bytes) surplus.push(own.shift()!);
  for (;;) {
    const all = left.flat();
    if (all.length > OF_ALL.count) surplus.push(largest(left, (own) => own.length).shift()!);
    else if (sum(all) > OF_ALL.bytes) surplus.push(largest(left, sum).shift()!);
    else return surplus;
  }
}

function sum(kept: readonly Kept[]): number {
  return kept.reduce((total, { bytes }) => total + bytes, 0);
}

function largest<T>(callers: readonly T[][], measure: (own: readonly T[]) => number): T[] {
  return callers.reduce((most, own) => (measure(own) > measure(most) ? own : most));
}
