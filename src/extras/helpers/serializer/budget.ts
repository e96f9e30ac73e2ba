// Limits the size of a copy in bytes of JSON.

import type { Kinds } from './kinds.js';

export interface Budget {
  readonly limited: boolean;
  /** Bytes left. */
  left: number;
  /** Set when something did not fit; nothing is added afterwards. */
  full: boolean;
  /** Returns a value if it fits, otherwise a marker in its place. */
  spend(value: unknown): unknown;
}

export type CreateBudget = ReturnType<typeof createBudgets>;

export function createBudgets({ DROPPED, bytesOf }: Kinds) {
  // Reserved for the marker that shows where the copy ends.
  const RESERVE = 40;

  return (marked: boolean, maxBytes: number | undefined): Budget => {
    const cut = (text: string, left: number): string => {
      let start = text.slice(0, Math.max(0, left));
      while (start !== '' && bytesOf(JSON.stringify(start)) > left)
        start = start.slice(0, Math.floor(start.length * 0.9));
      return `${start.replace(/[\ud800-\udbff]$/, '')}…`;
    };
    const budget: Budget = {
      limited: maxBytes !== undefined,
      left: maxBytes === undefined ? Number.POSITIVE_INFINITY : maxBytes - RESERVE,
      full: false,
      spend(value) {
        if (!budget.limited || value === DROPPED) return value;
        const bytes = bytesOf(JSON.stringify(value));
        if (bytes <= budget.left) {
          budget.left -= bytes;
          return value;
        }
        budget.full = true;
        if (marked) return { $truncated: true };
        return typeof value === 'string' && budget.left > 16 ? cut(value, budget.left) : '[Truncated]';
      },
    };
    return budget;
  };
}
