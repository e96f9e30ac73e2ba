// Shared by the verbs that edit client configurations.

import type { ClientEnvironment, Scope } from '../clients/client.js';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
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

/** Returns a function that renews the trust in a trusted workspace after the user confirmed a change of its files. */
export function renewTrust({
  state: { trust: trustStore },
  workspace: { workdir },
  machine: { world },
}: NodeToolbox): () => void {
  if (!trustStore.isTrusted(workdir)) return () => {};
  return () => {
    trustStore.trust(workdir, new Date(world.now()));
  };
}
