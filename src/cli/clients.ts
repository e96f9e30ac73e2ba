// Shared by the verbs that edit client configurations.

import type { ClientEnvironment, Scope } from '../clients/client.js';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import type { NodeToolbox } from '../node.js';
import { usageError } from './verb.js';

export function findClientEnvironment({ machine: { world }, workspace: { workdir } }: NodeToolbox): ClientEnvironment {
  const { home, platform, env } = world;
  if (home !== undefined) return { home, platform, env, workdir };
  throw new ToolError('unavailable', 'no home directory', { hint: 'set HOME' });
}

export function readScope(named: string | true | undefined): Scope | undefined {
  if (named === undefined || named === 'project' || named === 'user') return named;
  throw usageError(`unknown scope "${quoteOutside(String(named), 40)}"`, 'use --scope project or --scope user');
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
