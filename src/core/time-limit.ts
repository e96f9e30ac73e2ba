// A time limit that stands still while a person is asked: how long they think is not the tool's time (MOD-18).

import type { Elicit } from './elicit.js';

export interface TimeLimit {
  /** The same question, while which the limit stands still. */
  pausing(elicit: Elicit): Elicit;
  clear(): void;
}

export function startTimeLimit(milliseconds: number, onEnd: () => void): TimeLimit {
  let left = milliseconds;
  let began = performance.now();
  let open = 0;
  let over = false;
  let timer = setTimeout(onEnd, left);
  return {
    pausing: (elicit) => async (request, signal) => {
      if (open++ === 0) {
        clearTimeout(timer);
        left -= performance.now() - began;
      }
      try {
        return await elicit(request, signal);
      } finally {
        if (--open === 0 && !over) {
          began = performance.now();
          timer = setTimeout(onEnd, Math.max(1, left));
        }
      }
    },
    clear() {
      over = true;
      clearTimeout(timer);
    },
  };
}
