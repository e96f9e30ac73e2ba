// The state that fronts and workers of a fleet share, for the verbs that use it.

import type { LabelAdmin } from '../core/label.js';
import { begin, connect, parseFleetAddress } from '../fleet/connection.js';
import { toNames } from '../fleet/names.js';
import type { ApprovalAdmin } from '../node.js';
import type { SharedState } from '../state/files.js';
import { createSharedApprovals } from '../state/redis/approvals.js';
import { readSharedAudit } from '../state/redis/audit.js';
import { createKeyspace, type RedisKeyspace } from '../state/redis/keyspace.js';
import { createSharedLimiter } from '../state/redis/limiter.js';
import { createSharedLabels } from '../state/redis/session-labels.js';
import { openRedisState } from '../state/redis/state.js';
import { assertFleet, readFleetKey } from './fleet.js';
import type { VerbCall } from './verb.js';

/** Connects to the state of the fleet, with everything that fronts share: before the toolbox is opened, until it is closed. */
export async function openFrontState(call: VerbCall) {
  const { options, close } = await open(call, ['state', 'messages']);
  const [redis, subscriber] = options.connections;
  const state = await openRedisState({ ...options, redis: redis!, subscriber: subscriber! });
  return { state, close: () => close(state.keyspace) };
}

/** Workers share limits: they run the calls. */
export async function openWorkerState(call: VerbCall) {
  const { state: keyspace, close } = await openKeyspace(call);
  const share: SharedState['share'] = (local) => ({
    ...local,
    limiter: createSharedLimiter(keyspace, local.limiter),
    labels: createSharedLabels(keyspace, Date.now),
  });
  const shared: SharedState = { share, onListing: () => {} };
  return { state: shared, close };
}

export function useApprovals(call: VerbCall, use: (store: ApprovalAdmin) => Promise<number>): Promise<number> {
  return useKeyspace(call, (keyspace) => use(createSharedApprovals(keyspace)));
}

export function useLabels(call: VerbCall, use: (labels: LabelAdmin) => Promise<number>): Promise<number> {
  return useKeyspace(call, (keyspace) => use(createSharedLabels(keyspace, Date.now)));
}

/** Passes on the audit lines of all fronts; returns how many could not be read. */
export function readAudit(call: VerbCall, take: (line: string) => void): Promise<number> {
  return useKeyspace(call, (keyspace) => readSharedAudit(keyspace, take));
}

async function useKeyspace<T>(call: VerbCall, use: (keyspace: RedisKeyspace) => Promise<T>): Promise<T> {
  const { state, close } = await openKeyspace(call);
  try {
    return await use(state);
  } finally {
    await close();
  }
}

async function openKeyspace(call: VerbCall) {
  const { options, close } = await open(call, ['state']);
  const state = createKeyspace({ ...options, redis: options.connections[0]! });
  return { state, close: () => close(state) };
}

async function open({ flags, env, cwd, terminal }: VerbCall, names: readonly string[]) {
  const fleetAddress = parseFleetAddress(assertFleet({ flags, env }), env);
  const key = await readFleetKey({ env, cwd });
  const connections = await Promise.all(
    names.map((name) => connect(fleetAddress, { name, failsFast: name === 'state' })),
  );
  await begin(connections, fleetAddress, toNames(key.fleet), async () => {});
  const warn = (message: string): void => terminal.err(`warning  ${message}\n`);
  return {
    options: { key, warn, connections, address: fleetAddress.command },
    close: async (keyspace: RedisKeyspace) => {
      await keyspace.flush();
      for (const connection of connections) connection.disconnect();
    },
  };
}
