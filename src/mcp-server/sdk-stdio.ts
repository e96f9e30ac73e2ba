// The SDK server of a stdio connection. Loaded by the first message that the lane does not answer.

import type { Toolbox } from '../core/toolbox.js';
import { type ConnectionState, NEW_CONNECTION } from './connection-state.js';
import type { Lane } from './lane.js';
import type { LineTransport } from './line-transport.js';
import { createListening, listensToResources, oncePerTurn, startListening } from './listening.js';
import type { Message } from './message.js';
import type { OfferKind } from './offer-watch.js';
import { type JSONRPCMessage, type Server, serveStdio, type Transport } from './sdk.js';
import { createMcpServers, type McpServerOptions } from './server.js';

export interface SdkConnection {
  /** Delivers a message, after what the server must know of earlier ones; `before` and `after` are the states around it. */
  deliver(message: Message, before: ConnectionState, after: ConnectionState): void;
  /** Notifies subscriptions of a changed listing. */
  announceTools(): void;
  announceOffers(kind: OfferKind): void;
  /** The client has disconnected. */
  closed(): void;
  /** Ends subscriptions with a last message. */
  close(): Promise<void>;
}

export interface SdkConnectionOptions extends McpServerOptions {
  readonly session: string;
  readonly lane: Lane;
  readonly transport: LineTransport;
}

export function connectSdk(toolbox: Toolbox, options: SdkConnectionOptions): SdkConnection {
  const { session, lane, transport } = options;
  const servers = createMcpServers(toolbox, lane, options);
  const connected = new Set<Server>();
  const replayed = new Set<unknown>();
  let synced = NEW_CONNECTION;
  const channel: Transport = {
    async start() {},
    async send(message) {
      const { id, method } = message as Message;
      const isResponse = method === undefined && id !== undefined;
      // Responses to replayed messages were sent by the lane.
      if (isResponse && replayed.delete(id)) return;
      if (isResponse) return transport.answer(id, [JSON.stringify(message)]);
      transport.send(JSON.stringify(message));
      await transport.flushed();
    },
    async close() {
      transport.close();
    },
  };
  const handle = serveStdio(
    async () => {
      const server = await servers.create(session);
      connected.add(server);
      return server;
    },
    { transport: channel, onerror: options.onError },
  );
  let replays = 0;
  const replay = (message: Message): void => {
    const id = `wield-replay-${++replays}`;
    replayed.add(id);
    channel.onmessage?.({ ...message, id } as JSONRPCMessage);
  };
  const sync = ({ phase, initialize, envelope }: ConnectionState): void => {
    const params = { _meta: envelope! };
    if (initialize !== undefined && initialize !== synced.initialize) replay(initialize);
    else if (phase === synced.phase) return;
    // Any request fixes the version; `ping` has no effect in either.
    else if (phase === 'older') replay({ jsonrpc: '2.0', method: 'ping' });
    else if (phase === 'newer') replay({ jsonrpc: '2.0', method: 'ping', params });
    else if (phase === 'probing') replay({ jsonrpc: '2.0', method: 'server/discover', params });
  };
  const tellUpdate = oncePerTurn((uri) => {
    for (const server of connected) server.sendResourceUpdated({ uri }).catch(() => {});
  });
  const listening = createListening((message) => startListening(toolbox, session, message, tellUpdate));
  return {
    deliver(message, before, after) {
      sync(before);
      synced = after;
      if (after.phase === 'newer' && message.id !== undefined && listensToResources(message))
        return void listening.start(message, (accepted) => channel.onmessage?.(accepted as JSONRPCMessage));
      if (message.method === 'notifications/cancelled') listening.end(message.params?.requestId);
      channel.onmessage?.(message as JSONRPCMessage);
    },
    announceTools() {
      for (const server of connected) server.sendToolListChanged().catch(() => {});
    },
    announceOffers(kind) {
      for (const server of connected)
        (kind === 'resources' ? server.sendResourceListChanged() : server.sendPromptListChanged()).catch(() => {});
    },
    closed() {
      listening.close();
      channel.onclose?.();
    },
    close: () => handle.close(),
  };
}
