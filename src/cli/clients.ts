// What the verbs about other clients share: where their files lie, scopes, and trust across a change of a deciding file.

import type { ClientEnvironment, Scope } from '../clients/client.js';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import type { NodeToolbox } from '../node.js';

export function findClientEnvironment({
  machine: { world },
  workspace: { workdir },
}: NodeToolbox): ClientEnvironment {
  const { home, platform, env } = world;
  if (home !== undefined) return { home, platform, env, workdir };
  throw new ToolError('unavailable', 'there is no home directory', {
    hint: 'set HOME to a directory of yours',
  });
}

export function readScope(named: string | true | undefined): Scope | undefined {
  if (named === undefined || named === 'project' || named === 'user') return named;
  throw new ToolError('usage', `there is no scope "${quoteOutside(String(named), 40)}"`, {
    hint: 'use --scope project or --scope user',
  });
}

/**
 * Gives what keeps a workspace trusted that is trusted now: the person just agreed to this very change of a file that
 * would otherwise ask for trust again.
 */
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
