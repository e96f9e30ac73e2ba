// The flag --fleet, the variable that replaces it, and the address and key of the fleet.

import { hostname } from 'node:os';
import { parseFleetAddress } from '../fleet/connection.js';
import { loadFleetKey } from '../fleet/key.js';
import type { FleetOptions } from '../fleet/peer.js';
import type { NodeToolbox } from '../node.js';
import { option, usageError, type VerbCall } from './verb.js';

declare const WIELD_VERSION: string;

const FLEET_VARIABLE = 'WIELD_FLEET';

export const FLEET = option(
  'URL',
  `The Redis or Valkey server of a fleet: redis://… or rediss://… (or set ${FLEET_VARIABLE})`,
);

// Returns the address of the fleet, if one is given (FLT-88).
function fleetOf({ flags, env }: Pick<VerbCall, 'flags' | 'env'>): string | undefined {
  return flags.get('fleet')?.toString() ?? (env[FLEET_VARIABLE] || undefined);
}

export function usesFleet(call: Pick<VerbCall, 'flags' | 'env'>): boolean {
  return fleetOf(call) !== undefined;
}

/** Reads the address and the key of the fleet. Throws `usage` or `unavailable`. */
export function readFleet({ flags, env }: VerbCall, { world, wieldHome }: NodeToolbox['machine']): FleetOptions {
  const url = assertFleet({ flags, env });
  return {
    address: parseFleetAddress(url, env),
    key: loadFleetKey(env, wieldHome),
    host: hostname(),
    version: WIELD_VERSION,
    monotonic: world.monotonic,
    debug: world.debug,
  };
}

/** Returns the address of the fleet. Throws `usage` if there is none. */
export function assertFleet(call: Pick<VerbCall, 'flags' | 'env'>): string {
  const url = fleetOf(call);
  if (url !== undefined) return url;
  throw usageError('missing --fleet', `name the server: --fleet redis://HOST:PORT, or set ${FLEET_VARIABLE}`);
}
