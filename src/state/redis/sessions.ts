// Sessions of a fleet: any front continues what another one began.

import type { Redis } from 'ioredis';
import { isRecord, type Json } from '../../core/json.js';
import { subscribe } from '../../fleet/connection.js';
import { newId } from '../../fleet/peer.js';
import { IDLE_MS, type SharedSessions } from '../../mcp-server/shared-sessions.js';
import { type RedisKeyspace, reach, send } from './keyspace.js';

// As long as a question can be answered.
const NONCE_MS = 600_000;
const FIELD = 'session';

export async function createSharedSessions(keyspace: RedisKeyspace, subscriber: Redis): Promise<SharedSessions> {
  const { redis } = keyspace;
  const channel = keyspace.keyOf('sessions');
  const own = newId();
  const listeners: ((id: string, message: Json) => void)[] = [];
  const receive = (sealed: string): void => {
    const value = keyspace.open(channel, FIELD, sealed);
    if (!isRecord(value) || value.from === own || typeof value.id !== 'string') return;
    for (const listener of listeners) listener(value.id, value.message as Json);
  };
  subscriber.on('message', (from: string, sealed: string) => {
    if (from !== channel) return;
    try {
      receive(sealed);
    } catch (error) {
      keyspace.warn(`ignored a message about a session: ${(error as Error).message}`);
    }
  });
  await subscribe(subscriber, channel);
  const forward = (id: string, message: Json): void =>
    send(
      keyspace,
      'a message of a session',
      redis.publish(channel, keyspace.seal(channel, FIELD, { from: own, id, message })),
    );
  const keyOf = (id: string): string => keyspace.hiddenKeyOf('session', id);
  // Someone may remove the key of an answer that was used (FLT-78).
  const taken = new Set<string>();

  return {
    async save(id, session) {
      const key = keyOf(id);
      await reach('the session cannot be stored', redis.set(key, keyspace.seal(key, FIELD, session), 'PX', IDLE_MS));
    },
    async load(id) {
      const key = keyOf(id);
      const sealed = await reach('the session cannot be read', redis.getex(key, 'PX', IDLE_MS));
      return sealed === null ? undefined : keyspace.open(key, FIELD, sealed);
    },
    async remove(id) {
      await reach('the session cannot be removed', redis.del(keyOf(id)));
      forward(id, null);
    },
    forward,
    onForward: (listener) => void listeners.push(listener),
    stateKeys: () => keyspace.secrets('questions'),
    async takeOnce(nonce) {
      if (taken.has(nonce)) return false;
      const answer = redis.set(keyspace.hiddenKeyOf('answer', nonce), '1', 'PX', NONCE_MS, 'NX');
      const isFirst = (await reach('the answer cannot be checked', answer)) === 'OK';
      if (taken.has(nonce)) return false;
      taken.add(nonce);
      setTimeout(() => taken.delete(nonce), NONCE_MS).unref();
      return isFirst;
    },
  };
}
