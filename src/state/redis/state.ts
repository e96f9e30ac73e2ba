// The state of a fleet in Redis: shared by all fronts, sealed with the key of the fleet.

import type { Redis } from 'ioredis';
import type { FleetKey } from '../../fleet/key.js';
import type { SharedSessions } from '../../mcp-server/shared-sessions.js';
import type { FileState, SharedState, State } from '../files.js';
import { createSharedApprovals } from './approvals.js';
import { createAuditStream } from './audit.js';
import { createKeyspace, type RedisKeyspace } from './keyspace.js';
import { createSharedLimiter } from './limiter.js';
import { createMirror, type Mirror } from './mirror.js';
import { createSharedPins } from './pins.js';
import { createSharedResults } from './results.js';
import { createSharedLabels } from './session-labels.js';
import { createSharedSessions } from './sessions.js';

export interface RedisStateOptions {
  readonly redis: Redis;
  /** A connection that does nothing but receive messages. */
  readonly subscriber: Redis;
  readonly key: FleetKey;
  readonly warn: (message: string) => void;
  readonly address?: string;
}

/** Loaded before a toolbox is created. */
export interface RedisState extends SharedState {
  readonly keyspace: RedisKeyspace;
  readonly sessions: SharedSessions;
}

export async function openRedisState(options: RedisStateOptions): Promise<RedisState> {
  const { subscriber } = options;
  const keyspace = createKeyspace(options);
  const locals = new Set<FileState>();
  const put = (local: FileState, configuration: string, text: unknown): void => {
    if (typeof text === 'string') local.listings.put(configuration, text);
  };
  const [sessions, pins, listings] = await Promise.all([
    createSharedSessions(keyspace, subscriber),
    createMirror({ name: 'pins', keyspace, subscriber }),
    createMirror({
      name: 'listings',
      keyspace,
      subscriber,
      onChange: (configuration, text) => {
        for (const local of locals) put(local, configuration, text);
      },
    }),
  ]);
  return {
    keyspace,
    sessions,
    onListing: (configuration, text) => listings.set(configuration, text),
    share(local) {
      locals.add(local);
      for (const [configuration, text] of listings.entries()) put(local, configuration, text);
      return toState(keyspace, local, pins);
    },
  };
}

function toState(keyspace: RedisKeyspace, local: FileState, pins: Mirror): State {
  return {
    pins: createSharedPins(pins),
    results: createSharedResults(keyspace, local.results),
    audit: local.audit,
    auditSinks: [createAuditStream(keyspace)],
    listings: local.listings,
    limiter: createSharedLimiter(keyspace, local.limiter),
    approvals: createSharedApprovals(keyspace),
    labels: createSharedLabels(keyspace, Date.now),
  };
}
