// The flag --fleet, and the variable that replaces it.

import { option, type VerbCall } from './verb.js';

export const FLEET_VARIABLE = 'WIELD_FLEET';

export const FLEET = option(
  'URL',
  `The Redis or Valkey server of a fleet: redis://… or rediss://… (or set ${FLEET_VARIABLE})`,
);

/** Returns the address of the fleet, if one is given (FLT-88). */
export function fleetOf({ flags, env }: Pick<VerbCall, 'flags' | 'env'>): string | undefined {
  return flags.get('fleet')?.toString() ?? (env[FLEET_VARIABLE] || undefined);
}

export function usesFleet(call: Pick<VerbCall, 'flags' | 'env'>): boolean {
  return fleetOf(call) !== undefined;
}
