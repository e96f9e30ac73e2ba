// Follows resources of servers: keeps the connection open, and subscribes again after the server was restarted.

import { promises as timers } from 'node:timers';
import { guardListener, inBackground, onAbort } from '../../core/async.js';
import type { Snapshot } from '../../core/snapshot.js';
import { mayStart, type ProtocolVersion, type ServerEntry } from '../../core/upstream.js';
import { findLoginUser, toUserKey } from '../login/user.js';
import type { Connection } from './connection.js';
import type { Acquire, Lease } from './pool.js';

export interface ServerSubscriptionsOptions {
  readonly acquire: Acquire;
  /** Identifies a server with its configuration. */
  readonly keyOf: (server: ServerEntry) => string;
  readonly debug: (message: string) => void;
}

interface FollowedResource {
  readonly server: ServerEntry;
  readonly uri: string;
  /** The protocol version of the client. */
  readonly protocol: ProtocolVersion | undefined;
}

export type ServerSubscriptions = ReturnType<typeof createServerSubscriptions>;

// A server that announces changes all the time; updates within this time are one.
const UPDATE_MS = 50;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

export function createServerSubscriptions(options: ServerSubscriptionsOptions) {
  const followed = new Map<string, ReturnType<typeof followServer>>();
  return {
    /** Calls the listener when a resource changes; the returned function stops it. */
    follow({ server, uri, protocol }: FollowedResource, snapshot: () => Snapshot, onUpdate: () => void): () => void {
      const user = findLoginUser(server, snapshot().user);
      const key = `${options.keyOf(server)} ${protocol} ${user === undefined ? '' : toUserKey(user)}`;
      const one =
        followed.get(key) ?? followServer({ server, protocol }, snapshot, options, () => followed.delete(key));
      followed.set(key, one);
      return one.add(uri, onUpdate);
    },
    /** Ends all, so that no server is started again. */
    close(): void {
      for (const one of followed.values()) one.end();
    },
  };
}

// Follows resources of one server: one connection after the other, until nothing is followed any more.
function followServer(
  { server, protocol }: Omit<FollowedResource, 'uri'>,
  snapshot: () => Snapshot,
  { acquire, keyOf, debug }: ServerSubscriptionsOptions,
  onEnd: () => void,
) {
  const listeners = new Map<string, Set<() => void>>();
  const updates = createUpdates(listeners);
  const ended = new AbortController();
  let connection: Connection | undefined;
  const end = (): void => {
    ended.abort();
    onEnd();
  };
  // Subscribing to what is subscribed changes nothing.
  const subscribe = async ({ resources }: Connection, uri: string): Promise<void> => {
    try {
      await resources.subscribe(uri, AbortSignal.timeout(MAX_RETRY_MS));
    } catch (error) {
      debug(`${server.name}: could not subscribe: ${(error as Error).message}`);
    }
  };
  // Returns when the connection is closed or lost, or nothing is followed any more.
  const watch = async (lease: Lease, isFirst: boolean): Promise<void> => {
    const own = lease.connection;
    connection = own;
    let unlisten = (): void => {};
    const stopped = new Promise<'lost' | 'unknown'>((resolve) => {
      const check = async (): Promise<void> => ((await own.isAlive()) ? updates.addAll() : resolve('lost'));
      unlisten = own.resources.listen({
        follows: (uri) => listeners.has(uri),
        onUpdate: updates.add,
        onDoubt: () => inBackground(check(), debug),
      });
      own.closed.then(() => resolve('unknown'));
      onAbort(ended.signal, () => resolve('unknown'));
    });
    await Promise.all([...listeners.keys()].map((uri) => subscribe(own, uri)));
    // What changed meanwhile was not announced.
    if (!isFirst) updates.addAll();
    const outcome = await stopped;
    unlisten();
    connection = undefined;
    lease.release(outcome);
  };
  const run = async (): Promise<void> => {
    let retryMs = FIRST_RETRY_MS;
    for (let isFirst = true; !ended.signal.aborted; isFirst = false) {
      try {
        const now = snapshot();
        const current = now.servers.servers.find((one) => keyOf(one) === keyOf(server));
        if (current === undefined || !mayStart(current, now)) return end();
        const lease = await acquire(current, now, { protocol });
        retryMs = FIRST_RETRY_MS;
        await watch(lease, isFirst);
      } catch (error) {
        debug(`${server.name}: not followed for now: ${(error as Error).message}`);
      }
      await timers.setTimeout(retryMs, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    }
  };
  inBackground(run(), debug);
  return {
    end,
    add(uri: string, onUpdate: () => void): () => void {
      const own = listeners.get(uri) ?? new Set();
      const listener = guardListener(() => onUpdate(), debug);
      own.add(listener);
      listeners.set(uri, own);
      if (connection !== undefined) inBackground(subscribe(connection, uri), debug);
      return () => {
        if (!own.delete(listener) || own.size > 0) return;
        listeners.delete(uri);
        connection?.resources.unsubscribe(uri);
        if (listeners.size === 0) end();
      };
    },
  };
}

// Calls listeners of changed resources, at most once within a short time.
function createUpdates(listeners: ReadonlyMap<string, ReadonlySet<() => void>>) {
  const updated = new Set<string>();
  // A server may announce a part of what was subscribed to; clients hear of what they named.
  const add = (uri: string): void => {
    const isDue = updated.size > 0;
    for (const named of listeners.keys()) if (isWithin(uri, named)) updated.add(named);
    if (isDue || updated.size === 0) return;
    setTimeout(() => {
      const all = [...updated];
      updated.clear();
      for (const named of all) for (const listener of listeners.get(named) ?? []) listener();
    }, UPDATE_MS).unref();
  };
  return {
    add,
    addAll(): void {
      for (const uri of listeners.keys()) add(uri);
    },
  };
}

/** Whether a server that announces a change of one URI means another one that was subscribed to. */
export function isWithin(uri: string, named: string): boolean {
  return uri === named || (uri.startsWith(named) && (named.endsWith('/') || '/?#'.includes(uri[named.length]!)));
}
