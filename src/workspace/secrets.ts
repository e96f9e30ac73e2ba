// Which values are secret here: none of them stands in a message or a record.

import type { Settings } from '../core/settings.js';
import type { World } from '../core/world.js';
import { isGranted } from '../process/environment.js';

/** The values of variables that the configuration passes on may be credentials, as the server's token is one. */
export function findSecrets(
  { env, tools, model }: Settings,
  world: World,
  ofServers: readonly string[],
): readonly string[] {
  const key = model?.keyVariable === undefined ? [] : [model.keyVariable];
  const pass = [...env.pass, ...key, ...[...tools.values()].flatMap((tool) => tool.pass ?? [])];
  if (world.env.WIELD_TOKEN) pass.push('WIELD_TOKEN');
  if (pass.length === 0) return ofServers;
  const values = Object.entries(world.env).flatMap(([name, value]) =>
    value !== undefined && value.length >= 4 && isGranted(name, pass) ? [value] : [],
  );
  return [...values, ...ofServers];
}
