// Where programs keep the configuration of a person, by system.

import { isAbsolute, join } from 'node:path';
import type { Surroundings } from './client.js';

/** `$XDG_CONFIG_HOME`, or `~/.config`. */
export function configHome({ env, home }: Surroundings): string {
  const named = env.XDG_CONFIG_HOME;
  return named !== undefined && isAbsolute(named) ? named : join(home, '.config');
}

/** Where a desktop program keeps its own: `~/Library/Application Support` on macOS, `~/.config` elsewhere. */
export function applicationData(surroundings: Surroundings): string {
  return surroundings.platform === 'darwin'
    ? join(surroundings.home, 'Library', 'Application Support')
    : configHome(surroundings);
}

/** A directory that a variable can name. */
export function namedDirectory({ env }: Surroundings, variable: string, otherwise: string): string {
  const named = env[variable];
  return named !== undefined && isAbsolute(named) ? named : otherwise;
}
