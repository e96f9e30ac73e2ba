// Shared by the verbs that use a fleet: reads its address and key.

import { hostname } from 'node:os';
import { parseFleetAddress } from '../fleet/connection.js';
import { loadFleetKey } from '../fleet/key.js';
import type { FleetOptions } from '../fleet/peer.js';
import type { NodeToolbox } from '../node.js';
import { usageError, type VerbCall } from './verb.js';

const VARIABLE = 'WIELD_FLEET';

/** Reads the address and the key of the fleet. Throws `usage` or `unavailable`. */
export function readFleet({ flags, env }: VerbCall, { world, wieldHome }: NodeToolbox['machine']): FleetOptions {
  const url = flags.get('fleet') ?? env[VARIABLE];
  if (url === undefined)
    throw usageError('missing --fleet', `name the server: --fleet redis://HOST:PORT, or set ${VARIABLE}`);
  return {
    address: parseFleetAddress(String(url), env),
    key: loadFleetKey(env, wieldHome),
    host: hostname(),
    monotonic: world.monotonic,
    debug: world.debug,
  };
}
