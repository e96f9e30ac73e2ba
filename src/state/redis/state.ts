// The state of a fleet in Redis: shared by all fronts, sealed with the key of the fleet.

import type { Redis } from 'ioredis';
import type { FleetKey } from '../../fleet/key.js';
import type { SharedSessions } from '../../mcp-server/shared-sessions.js';
import type { FileState, SharedState } from '../files.js';
import type { State } from '../state.js';
import { createSharedApprovals } from './approvals.js';
import { createAuditStream } from './audit.js';
import { createSharedLimiter } from './limiter.js';
import { createMirror, type Mirror } from './mirror.js';
import { createSharedPins } from './pins.js';
import { createPlace, type RedisPlace } from './place.js';
import { createSharedResults } from './results.js';
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
  readonly place: RedisPlace;
  readonly sessions: SharedSessions;
}

export async function openRedisState(options: RedisStateOptions): Promise<RedisState> {
  const { subscriber } = options;
  const place = createPlace(options);
  const locals = new Set<FileState>();
  const put = (local: FileState, configuration: string, text: unknown): void => {
    if (typeof text === 'string') local.listings.put(configuration, text);
  };
  const [sessions, pins, listings] = await Promise.all([
    createSharedSessions(place, subscriber),
    createMirror({ name: 'pins', place, subscriber }),
    createMirror({
      name: 'listings',
      place,
      subscriber,
      onChange: (configuration, text) => {
        for (const local of locals) put(local, configuration, text);
      },
    }),
  ]);
  return {
    place,
    sessions,
    onListing: (configuration, text) => listings.set(configuration, text),
    share(local) {
      locals.add(local);
      for (const [configuration, text] of listings.entries()) put(local, configuration, text);
      return toState(place, local, pins);
    },
  };
}

function toState(place: RedisPlace, local: FileState, pins: Mirror): State {
  return {
    pins: createSharedPins(pins),
    results: createSharedResults(place, local.results),
    audit: local.audit,
    auditSinks: [createAuditStream(place)],
    listings: local.listings,
    limiter: createSharedLimiter(place, local.limiter),
    approvals: createSharedApprovals(place),
  };
}
