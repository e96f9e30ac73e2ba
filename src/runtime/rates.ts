// Counts calls per minute of each caller in this process (FLT-74).

import type { Limiter } from './limiter.js';

/** A minute, the time that a rate is given for. */
export const RATE_MS = 60_000;

const MAX_CALLERS = 1000;

const rates = new WeakMap<Limiter, Map<string, number>>();

/** Counts a call, or returns how many milliseconds it has to wait. */
export function admitHere(limiter: Limiter, caller: string, perMinute: number): number {
  // When all calls of a caller are forgotten: each adds its share of a minute, up to a minute from now.
  const ends = rates.get(limiter) ?? new Map<string, number>();
  rates.set(limiter, ends);
  const now = performance.now();
  if (ends.size > MAX_CALLERS) for (const [idle, end] of ends) if (end <= now) ends.delete(idle);
  const end = Math.max(ends.get(caller) ?? 0, now) + RATE_MS / perMinute;
  const waitMs = end - now - RATE_MS;
  // Sums of fractions are not exact.
  if (waitMs > 0.01) return Math.ceil(waitMs);
  ends.set(caller, end);
  return 0;
}
