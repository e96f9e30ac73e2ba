// Subscriptions of one connection to resources of its server, in both protocol versions.

import { unlessAborted } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { Client, Subscription } from './client.js';
import type { ConnectOptions } from './handshake.js';

export interface ResourceWatch {
  /** Throws `unavailable` if the server does not support subscriptions, or what the request throws. */
  subscribe(uri: string, signal: AbortSignal): Promise<void>;
  /** Ends a subscription that no listener follows any more. */
  unsubscribe(uri: string): void;
  /** Adds a listener; the returned function removes it. */
  listen(listener: UpdateListener): () => void;
}

export interface UpdateListener {
  /** Whether it still needs the updates of a resource. */
  follows(uri: string): boolean;
  /** Called with the URI of each changed resource. */
  onUpdate(uri: string): void;
  /** Called when updates may have been missed, or the server may have forgotten its subscriptions. */
  onDoubt(): void;
}

const TIMEOUT_MS = 10_000;
const RETRY_MS = 1000;

export function watchResources(client: Client, capabilities: JsonObject, options: ConnectOptions): ResourceWatch {
  const { name, debug } = options;
  const listeners = new Set<UpdateListener>();
  const doubt = (): void => {
    for (const listener of listeners) listener.onDoubt();
  };
  client.listeners.set('notifications/resources/updated', ({ uri }) => {
    if (typeof uri === 'string') for (const listener of listeners) listener.onUpdate(uri);
  });
  // An event stream that was cut, of a server that may have been restarted.
  const { onError } = client;
  client.onError = (error) => {
    onError(error);
    if (!client.isModern) doubt();
  };
  const streams = client.isModern ? createStreams(client, options, doubt) : undefined;
  return {
    async subscribe(uri, signal) {
      if (!isRecord(capabilities.resources) || capabilities.resources.subscribe !== true)
        throw new ToolError('unavailable', `the server ${name} does not support subscriptions`, {
          hint: 'read the resource again instead',
        });
      await (streams?.add(uri, signal) ?? client.request('resources/subscribe', { uri }, { signal }));
    },
    unsubscribe(uri) {
      if (!client.isOpen || [...listeners].some((listener) => listener.follows(uri))) return;
      const ended =
        streams?.delete(uri) ??
        client.request('resources/unsubscribe', { uri }, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      ended.catch((error: Error) => debug(`${name}: could not unsubscribe: ${quoteOutside(error.message, 200)}`));
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

// The newer version: one stream for all URIs, replaced when they change and reopened when it is cut.
function createStreams(client: Client, { name, debug }: ConnectOptions, doubt: () => void) {
  const wanted = new Set<string>();
  let stream: Subscription | undefined;
  let changing: Promise<void> = Promise.resolve();
  const listen = async (): Promise<void> => {
    const before = stream;
    const next = wanted.size === 0 ? undefined : await client.subscribe({ resourceSubscriptions: [...wanted] });
    stream = next;
    next?.closed.then(() => {
      if (stream === next) reopen();
    });
    before?.close();
  };
  const reopen = (): void => {
    stream = undefined;
    setTimeout(() => {
      if (!client.isOpen || wanted.size === 0 || stream !== undefined) return;
      change().then(doubt, (error: Error) => {
        debug(`${name}: could not subscribe again: ${quoteOutside(error.message, 200)}`);
        reopen();
      });
    }, RETRY_MS).unref();
  };
  const change = (): Promise<void> => {
    changing = changing.then(listen, listen);
    return changing;
  };
  return {
    async add(uri: string, signal: AbortSignal): Promise<void> {
      if (wanted.has(uri)) return changing.catch(() => {});
      wanted.add(uri);
      try {
        await unlessAborted(change(), signal, () => new Error('the request was aborted'));
        const { resourceSubscriptions: accepted } = stream?.accepted ?? {};
        if (!Array.isArray(accepted) || !accepted.includes(uri))
          throw new ToolError('unavailable', `the server ${name} does not accept a subscription to ${uri}`, {
            hint: 'read the resource again instead',
          });
      } catch (error) {
        wanted.delete(uri);
        throw error;
      }
    },
    async delete(uri: string): Promise<void> {
      if (wanted.delete(uri)) await change();
    },
  };
}
