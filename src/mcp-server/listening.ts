// Subscriptions to resources by `subscriptions/listen` of the newer protocol version.

import { isRecord } from '../core/json.js';
import type { Toolbox } from '../core/toolbox.js';
import { Followed, MAX_SUBSCRIPTIONS } from './followed.js';
import { MODEL } from './listing.js';
import { META, type Message, metaOf } from './message.js';

export interface Listening {
  /** The request, without the URIs that the client may not follow. */
  readonly message: Message;
  end(): void;
}

/** Whether a message subscribes to resources in the newer version. */
export function listensToResources({ method, params }: Message): boolean {
  const filter = params?.notifications;
  return method === 'subscriptions/listen' && isRecord(filter) && isUris(filter.resourceSubscriptions);
}

/** Follows the resources that a `subscriptions/listen` request names. */
export async function startListening(
  toolbox: Toolbox,
  session: string,
  message: Message,
  onUpdate: (uri: string) => void,
): Promise<Listening> {
  const { params } = message;
  const filter = params!.notifications as { readonly resourceSubscriptions: readonly string[] };
  const client = metaOf(params)?.[META.client];
  const name = isRecord(client) ? String(client.name) : undefined;
  const followed = new Followed();
  const uris = [...new Set(filter.resourceSubscriptions)].slice(0, MAX_SUBSCRIPTIONS);
  const accepted = await Promise.all(
    uris.map(async (uri) => {
      const options = { caller: { ...MODEL, session, name } };
      const { result, end } = await toolbox.catalog.resources.subscribe(uri, () => onUpdate(uri), options);
      followed.add(uri, end);
      return result.ok;
    }),
  );
  const resourceSubscriptions = uris.filter((_, at) => accepted[at]);
  const notifications = { ...filter, resourceSubscriptions };
  return { message: { ...message, params: { ...params, notifications } }, end: followed.close };
}

/** The `subscriptions/listen` requests of a connection, by id. */
export function createListening(start: (message: Message) => Promise<Listening>) {
  const ends = new Map<unknown, () => void>();
  const end = (id: unknown): void => {
    ends.get(id)?.();
    ends.delete(id);
  };
  return {
    /** Calls `deliver` with what was accepted, unless the request was cancelled meanwhile. */
    async start(message: Message, deliver: (message: Message) => void): Promise<void> {
      let isCancelled = false;
      // A client that uses an id twice loses what the first one followed.
      end(message.id);
      ends.set(message.id, () => {
        isCancelled = true;
      });
      const listening = await start(message);
      if (isCancelled) return listening.end();
      ends.set(message.id, listening.end);
      deliver(listening.message);
    },
    end,
    close() {
      for (const id of [...ends.keys()]) end(id);
    },
  };
}

/** Calls `tell` once for all calls with the same URI in one turn of the event loop. */
export function oncePerTurn(tell: (uri: string) => void): (uri: string) => void {
  const due = new Set<string>();
  return (uri) => {
    if (due.has(uri)) return;
    due.add(uri);
    setImmediate(() => {
      due.delete(uri);
      tell(uri);
    });
  };
}

function isUris(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((uri) => typeof uri === 'string');
}
