// Finds the values in the environment that must not appear in messages or records.

import type { Settings } from '../core/settings.js';
import type { World } from '../core/world.js';
import { isGranted } from '../process/environment.js';

const MIN_LENGTH = 4;

/** Returns the values of variables that the configuration passes to tools, the model key and `WIELD_TOKEN`. */
export function findSecrets({ env, tools, model }: Settings, world: World): readonly string[] {
  const key = model?.keyVariable === undefined ? [] : [model.keyVariable];
  const pass = [...env.pass, ...key, ...[...tools.values()].flatMap((tool) => tool.pass ?? [])];
  // The token is never passed on, but may be printed.
  if (pass.length === 0 && !world.env.WIELD_TOKEN) return [];
  return Object.entries(world.env).flatMap(([name, value]) =>
    value !== undefined && value.length >= MIN_LENGTH && (name === 'WIELD_TOKEN' || isGranted(name, pass))
      ? [value]
      : [],
  );
}
