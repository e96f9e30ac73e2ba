// Serves a toolbox over stdio: by the lane, and by the SDK server for what the lane does not answer.

import { OpenMap } from '../core/open-map.js';
import type { Toolbox } from '../core/toolbox.js';
import { advance, type ConnectionState, isAnswered, NEW_CONNECTION } from './connection-state.js';
import { createLane, type LaneOptions, type LaneRequest } from './lane.js';
import { LineTransport, type LineTransportOptions } from './line-transport.js';
import { isCancelParams, type Message, type RequestId, type RequestMessage } from './message.js';
import { createNewSpaceLimit } from './new-space.js';
import { createOutgoing, toNotification } from './outgoing.js';
import type { SdkConnection } from './sdk-stdio.js';
import { createPeer, createSession } from './stdio-peer.js';

export interface StdioOptions extends Pick<LaneOptions, 'version' | 'onError'>, LineTransportOptions {}

export interface StdioServing {
  /** Resolves when the client has disconnected. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveMcpStdio(toolbox: Toolbox, options: StdioOptions): StdioServing {
  const session = createSession();
  const running = new OpenMap<RequestId, LaneRequest>();
  const outgoing = createOutgoing();
  const limitNewSpace = createNewSpaceLimit();
  let state = NEW_CONNECTION;
  let sdk: Promise<SdkConnection> | undefined;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });

  const transport = new LineTransport(options, {
    onMessage: (message) => receive(message),
    onError: (error) => options.onError?.(error),
    onClose() {
      lane.close();
      outgoing.close();
      for (const request of running.values()) request.cancel();
      withSdk((connection) => connection.closed());
      end();
    },
  });
  const lane = createLane(toolbox, { ...options, ready: (cancellation) => transport.ready(cancellation) });
  let peer = createPeer(state, session, transport, outgoing);

  // Messages of the SDK server keep their order; loading takes a moment.
  const withSdk = (act: (connection: SdkConnection) => void): void => {
    sdk?.then(act).catch((error: unknown) => transport.fail(undefined, error));
  };
  const toSdk = (message: Message, before: ConnectionState, after: ConnectionState): void => {
    sdk ??= import('./sdk-stdio.js').then(({ connectSdk }) =>
      connectSdk(toolbox, { session: session(), lane, transport, version: options.version, onError: options.onError }),
    );
    sdk
      .then((connection) => connection.deliver(message, before, after))
      .catch((error: unknown) => transport.fail(message.id, error));
  };
  const answer = (message: RequestMessage): void => {
    limitNewSpace();
    lane
      .answer(message, peer, running)
      .then((parts) => {
        if (parts !== undefined) transport.answer(message.id, parts);
      })
      .catch((error: unknown) => transport.fail(message.id, error));
  };
  const receive = (message: Message): void => {
    if (message.method === undefined) {
      if (!outgoing.receive(message) && sdk !== undefined) toSdk(message, state, state);
      return;
    }
    const before = state;
    state = advance(state, message);
    if (state !== before) peer = createPeer(state, session, transport, outgoing);
    const isRequest = message.id !== undefined;
    if (isRequest && isAnswered(message as RequestMessage, before.phase, state.phase)) {
      answer(message as RequestMessage);
      return;
    }
    if (message.method === 'notifications/cancelled' && isCancelParams(message.params)) {
      const { requestId, reason } = message.params as { requestId: RequestId; reason?: string };
      running.get(requestId)?.cancel(reason);
    }
    // A notification gets no response: it matters only to an SDK server that runs.
    if (isRequest || sdk !== undefined) toSdk(message, before, state);
  };

  lane.onChange(() => {
    if (state.phase === 'older') transport.send(toNotification('notifications/tools/list_changed'));
    else withSdk((connection) => connection.announceTools());
  });
  lane.onOffersChange((kind) => {
    if (state.phase === 'older') transport.send(toNotification(`notifications/${kind}/list_changed`));
    else withSdk((connection) => connection.announceOffers(kind));
  });
  transport.start();
  return {
    ended,
    async close() {
      await sdk?.then((connection) => connection.close());
      transport.close();
    },
  };
}
