// Shared by the verbs that edit client configurations.

import { isDeepStrictEqual } from 'node:util';
import type { ClientEnvironment, Scope } from '../clients/client.js';
import { withConfigLock } from '../clients/config-file.js';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import { changedMeanwhile } from '../files/change.js';
import type { NodeToolbox } from '../node.js';
import { usageError, type VerbCall } from './verb.js';

export function findClientEnvironment({ machine: { world }, workspace: { workdir } }: NodeToolbox): ClientEnvironment {
  const { home, platform, env } = world;
  if (home !== undefined) return { home, platform, env, workdir };
  throw new ToolError('unavailable', 'no home directory', { hint: 'set HOME' });
}

/** The values of `--scope`, which are checked where flags are parsed. */
export const SCOPES: readonly Scope[] = ['project', 'user'];

export function readScope({ flags }: VerbCall): Scope | undefined {
  return SCOPES.find((scope) => scope === flags.get('scope'));
}

/** Checks the name of a server that is written to a file. Throws `usage`. */
export function checkServerName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) return name;
  throw usageError(
    `"${quoteOutside(name, 40)}" is not a valid server name`,
    'use up to 64 letters, digits, -, _ and ., beginning with a letter or digit',
  );
}

/** Runs a change of files that the user confirmed; a trusted workspace stays trusted with the changed files. */
export function renewTrust<T>(
  { state: { trust }, workspace: { workdir }, machine: { world } }: NodeToolbox,
  change: () => Promise<T>,
): Promise<T> {
  return trust.keep(workdir, new Date(world.now()), change);
}

/** Changes a configuration file while no other process does: `change` reads, checks and writes it (STA-6). */
export function changeConfig<T>(call: VerbCall, path: string, change: () => T | Promise<T>): Promise<T> {
  const toolbox = call.toolbox();
  const { wieldHome } = toolbox.machine;
  return renewTrust(toolbox, () => withConfigLock(path, { wieldHome, signal: call.signal }, async () => change()));
}

/** Throws `conflict` if an entry is not the one that was shown before the user confirmed. */
export function assertUnchanged(shown: unknown, current: unknown, path: string): void {
  if (!isDeepStrictEqual(shown, current)) throw changedMeanwhile(path);
}
