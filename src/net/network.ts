// How requests leave this machine.

import { type CreateFetch, createGuardedFetch } from './fetch.js';

/** How requests leave this machine. */
export interface Network {
  /** Creates a fetch for one server. */
  readonly createFetch: CreateFetch;
}

export function createNetwork(): Network {
  return { createFetch: createGuardedFetch };
}
