// Follows resources of servers: keeps the connection open, and subscribes again after the server was restarted.

import { guardListener, inBackground } from '../../core/async.js';
import type { Snapshot } from '../../core/snapshot.js';
import { mayStart, type ServerEntry } from '../../core/upstream.js';
import type { Acquire, Lease } from './pool.js';

export interface ServerSubscriptionsOptions {
  readonly acquire: Acquire;
  /** Identifies a server with its configuration. */
  readonly keyOf: (server: ServerEntry) => string;
  readonly debug: (message: string) => void;
}

export interface ServerSubscriptions {
  /** Calls the listener when a resource changes; the returned function stops it. */
  follow(server: ServerEntry, uri: string, snapshot: () => Snapshot, onUpdate: () => void): () => void;
  /** Ends all, so that no server is started again. */
  close(): void;
}

// A server that announces changes all the time; updates within this time are one.
const UPDATE_MS = 50;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

export function createServerSubscriptions(options: ServerSubscriptionsOptions): ServerSubscriptions {
  const followed = new Map<string, FollowedServer>();
  return {
    follow(server, uri, snapshot, onUpdate) {
      const key = options.keyOf(server);
      const one = followed.get(key) ?? new FollowedServer(server, snapshot, options, () => followed.delete(key));
      followed.set(key, one);
      return one.add(uri, onUpdate);
    },
    close() {
      for (const one of followed.values()) one.end();
    },
  };
}

/** The followed resources of one server. */
class FollowedServer {
  readonly #server: ServerEntry;
  readonly #snapshot: () => Snapshot;
  readonly #options: ServerSubscriptionsOptions;
  readonly #onEnd: () => void;
  readonly #listeners = new Map<string, Set<() => void>>();
  /** URIs whose listeners will be called. */
  readonly #updated = new Set<string>();
  #lease: Lease | undefined;
  #isEnded = false;
  #stop: () => void = () => {};
  #retryMs = FIRST_RETRY_MS;

  constructor(server: ServerEntry, snapshot: () => Snapshot, options: ServerSubscriptionsOptions, onEnd: () => void) {
    this.#server = server;
    this.#snapshot = snapshot;
    this.#options = options;
    this.#onEnd = onEnd;
    inBackground(this.#run(), options.debug);
  }

  add(uri: string, onUpdate: () => void): () => void {
    const listeners = this.#listeners.get(uri) ?? new Set();
    const listener = guardListener(() => onUpdate(), this.#options.debug);
    listeners.add(listener);
    this.#listeners.set(uri, listeners);
    if (this.#lease !== undefined) inBackground(this.#subscribe(this.#lease, uri), this.#options.debug);
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      this.#listeners.delete(uri);
      this.#lease?.connection.resources.unsubscribe(uri);
      if (this.#listeners.size === 0) this.end();
    };
  }

  end(): void {
    this.#isEnded = true;
    this.#onEnd();
    this.#stop();
  }

  // One connection after the other, until nothing is followed any more.
  async #run(): Promise<void> {
    for (let isFirst = true; !this.#isEnded; isFirst = false) {
      const lease = await this.#connect();
      if (lease === undefined) continue;
      await this.#watch(lease, isFirst);
      this.#lease = undefined;
    }
  }

  async #connect(): Promise<Lease | undefined> {
    try {
      const snapshot = this.#snapshot();
      const key = this.#options.keyOf(this.#server);
      const server = snapshot.servers.servers.find((one) => this.#options.keyOf(one) === key);
      if (server === undefined || !mayStart(server, snapshot)) {
        this.end();
        return undefined;
      }
      const lease = await this.#options.acquire(server, snapshot);
      this.#retryMs = FIRST_RETRY_MS;
      return lease;
    } catch (error) {
      this.#options.debug(`${this.#server.name}: not followed for now: ${(error as Error).message}`);
      await this.#pause();
      return undefined;
    }
  }

  async #watch(lease: Lease, isFirst: boolean): Promise<void> {
    this.#lease = lease;
    const { connection } = lease;
    let isLost = false;
    const stopped = new Promise<void>((resolve) => {
      this.#stop = resolve;
      connection.closed.then(resolve, resolve);
    });
    const check = async (): Promise<void> => {
      isLost ||= !(await connection.isAlive());
      if (isLost) this.#stop();
      else this.#updateAll();
    };
    const unlisten = connection.resources.listen({
      onUpdate: (uri) => this.#onUpdate(uri),
      onDoubt: () => inBackground(check(), this.#options.debug),
    });
    await Promise.all([...this.#listeners.keys()].map((uri) => this.#subscribe(lease, uri)));
    // What changed meanwhile was not announced.
    if (!isFirst) this.#updateAll();
    if (!this.#isEnded) await stopped;
    unlisten();
    lease.release(isLost ? 'lost' : 'unknown');
    if (!this.#isEnded) await this.#pause();
  }

  // Subscribing to what is subscribed changes nothing.
  async #subscribe({ connection }: Lease, uri: string): Promise<void> {
    try {
      await connection.resources.subscribe(uri, AbortSignal.timeout(MAX_RETRY_MS));
    } catch (error) {
      this.#options.debug(`${this.#server.name}: could not subscribe: ${(error as Error).message}`);
    }
  }

  #updateAll(): void {
    for (const uri of this.#listeners.keys()) this.#onUpdate(uri);
  }

  // A server may announce a part of what was subscribed to; clients hear of what they named.
  #onUpdate(uri: string): void {
    const isDue = this.#updated.size > 0;
    for (const named of this.#listeners.keys()) if (isWithin(uri, named)) this.#updated.add(named);
    if (isDue || this.#updated.size === 0) return;
    setTimeout(() => {
      const updated = [...this.#updated];
      this.#updated.clear();
      for (const named of updated) for (const listener of this.#listeners.get(named) ?? []) listener();
    }, UPDATE_MS).unref();
  }

  #pause(): Promise<void> {
    const ms = this.#retryMs;
    this.#retryMs = Math.min(ms * 2, MAX_RETRY_MS);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#stop = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function isWithin(uri: string, named: string): boolean {
  return uri === named || (uri.startsWith(named) && (named.endsWith('/') || '/?#'.includes(uri[named.length]!)));
}
