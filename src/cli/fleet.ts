// The flag --fleet, the variable that replaces it, and the address and key of the fleet.

import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseFleetAddress } from '../fleet/connection.js';
import { type FleetKey, loadFleetKey } from '../fleet/key.js';
import type { FleetOptions } from '../fleet/peer.js';
import type { NodeToolbox } from '../node.js';
import { expandVariables } from '../upstream/entries/expand.js';
import { findReferences } from '../upstream/entries/value.js';
import { createMachine, readVersion } from '../workspace/machine.js';
import { option, usageError, type VerbCall } from './verb.js';

const FLEET_VARIABLE = 'WIELD_FLEET';
const KEY_VARIABLE = 'WIELD_FLEET_KEY';

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
export async function readFleet(call: VerbCall, { world }: NodeToolbox['machine']): Promise<FleetOptions> {
  return {
    address: parseFleetAddress(assertFleet(call), call.env),
    key: await readFleetKey(call),
    host: hostname(),
    version: readVersion(),
    monotonic: world.monotonic,
    debug: world.debug,
  };
}

/** Reads the key of the fleet, to which its variable may refer (SEC-7). */
export async function readFleetKey({ env, cwd }: Pick<VerbCall, 'env' | 'cwd'>): Promise<FleetKey> {
  const { world, wieldHome } = createMachine({ env }, { all: [] });
  const { [KEY_VARIABLE]: text = '' } = env;
  if (findReferences(text, 'env').length === 0) return loadFleetKey(env, wieldHome);
  const subject = { name: 'the fleet', file: join(wieldHome, 'config.toml') };
  const { values } = await expandVariables({ [KEY_VARIABLE]: text }, subject, { world, workdir: cwd });
  return loadFleetKey(values, wieldHome);
}

/** Returns the address of the fleet. Throws `usage` if there is none. */
export function assertFleet(call: Pick<VerbCall, 'flags' | 'env'>): string {
  const url = fleetOf(call);
  if (url !== undefined) return url;
  throw usageError('missing --fleet', `name the server: --fleet redis://HOST:PORT, or set ${FLEET_VARIABLE}`);
}
