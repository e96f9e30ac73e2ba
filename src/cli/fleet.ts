// Shared by the verbs that use a fleet: reads its address and key.

import { hostname } from 'node:os';
import { parseFleetAddress } from '../fleet/connection.js';
import { loadFleetKey } from '../fleet/key.js';
import type { FleetOptions } from '../fleet/peer.js';
import type { NodeToolbox } from '../node.js';
import { FLEET_VARIABLE, fleetOf } from './fleet-flag.js';
import { usageError, type VerbCall } from './verb.js';

/** Reads the address and the key of the fleet. Throws `usage` or `unavailable`. */
export function readFleet({ flags, env }: VerbCall, { world, wieldHome }: NodeToolbox['machine']): FleetOptions {
  const url = assertFleet({ flags, env });
  return {
    address: parseFleetAddress(url, env),
    key: loadFleetKey(env, wieldHome),
    host: hostname(),
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
