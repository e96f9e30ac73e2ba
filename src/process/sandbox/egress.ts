// The network of a sandbox with a list of hosts: one address inside, whose connections wield serves from outside (EXE-84).

import type { Server } from 'node:net';
import type { SandboxPlan } from '../../core/sandbox.js';
import { findEntry } from '../entry.js';

/** Serves the connections of a process that has no other network. */
export interface Egress {
  /** Receives what listens inside the network of the process. */
  serve(listener: Server): void;
  close(): void;
}

/** Where the process finds its proxy, in a network of its own. */
export const PROXY_PORT = 3128;

const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** What programs read to find their proxy; some know the names in small letters only. */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  ...{ HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, ALL_PROXY: PROXY, NO_PROXY: '' },
  ...{ http_proxy: PROXY, https_proxy: PROXY, all_proxy: PROXY, no_proxy: '' },
  NODE_USE_ENV_PROXY: '1',
};

/** Returns the program that listens inside, hands that to wield, and then starts the command line after it. */
export function egressStarter(): readonly string[] {
  return [process.execPath, findEntry('egress/main.cjs')];
}

/** Returns what comes before a command line: the limits and the sandbox. */
export function launcherWith(
  { launcher, starter = [] }: Pick<SandboxPlan, 'launcher' | 'starter'>,
  limits: readonly string[],
): readonly string[] {
  // The starter is a program of ours, which needs more memory than a tool may have.
  return starter.length === 0 ? [...limits, ...launcher] : [...launcher, ...starter, ...limits];
}
