// Directories of user configuration by platform.

import { isAbsolute, join } from 'node:path';
import type { ClientEnvironment } from './client.js';

/** `$XDG_CONFIG_HOME`, or `~/.config`. */
export function configHome({ env, home }: ClientEnvironment): string {
  const named = env.XDG_CONFIG_HOME;
  return named !== undefined && isAbsolute(named) ? named : join(home, '.config');
}

/** The data directory of desktop programs: `~/Library/Application Support` on macOS, `~/.config` elsewhere. */
export function applicationData(environment: ClientEnvironment): string {
  return environment.platform === 'darwin'
    ? join(environment.home, 'Library', 'Application Support')
    : configHome(environment);
}

/** A directory that a variable can override. */
export function namedDirectory({ env }: ClientEnvironment, variable: string, otherwise: string): string {
  const named = env[variable];
  return named !== undefined && isAbsolute(named) ? named : otherwise;
}
