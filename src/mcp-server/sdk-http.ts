// The SDK server over HTTP. Loaded by the first request that the lane does not answer.

import type { Toolbox } from '../core/toolbox.js';
import type { Lane } from './lane.js';
import { listensToResources, oncePerTurn, startListening } from './listening.js';
import { type Message, toMessage } from './message.js';
import type { OfferKind } from './offer-watch.js';
import {
  createMcpHandler,
  isLegacyRequest,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type Transport,
} from './sdk.js';
import { createMcpServers, type McpServerOptions } from './server.js';
import type { SdkSession, SendMessage } from './session.js';

export interface SdkHttp {
  /** Whether a request is of the older protocol version; one that is invalid in both is not. */
  isOlder(request: Request, body: unknown): Promise<boolean>;
  /** Handles a request of the newer protocol version. */
  handle(request: Request, body: unknown): Promise<Response>;
  connect(session: string, initialize: Message, send: SendMessage): Promise<SdkSession>;
  /** Notifies subscriptions of a changed listing. */
  announceTools(): void;
  announceOffers(kind: OfferKind): void;
  close(): Promise<void>;
}

export interface SdkHttpOptions extends Pick<McpServerOptions, 'version' | 'onError'> {
  readonly lane: Lane;
  readonly maxBodyBytes: number;
}

const REPLAY_ID = 'wield-replay';
// The newer protocol version has no sessions: all clients with access share one.
const SESSION = 'http';

export function createSdkHttp(toolbox: Toolbox, options: SdkHttpOptions): SdkHttp {
  const servers = createMcpServers(toolbox, options.lane, options);
  const stateless = createMcpHandler(() => servers.create(SESSION), {
    legacy: 'reject',
    maxRequestBodySize: options.maxBodyBytes,
    onerror: options.onError,
  });
  const tellUpdate = oncePerTurn((uri) => stateless.notify.resourceUpdated(uri));
  return {
    isOlder: isLegacyRequest,
    async handle(request, body) {
      const message = toMessage(body);
      if (message === undefined || !listensToResources(message)) return stateless.fetch(request, { parsedBody: body });
      const listening = await startListening(toolbox, SESSION, message, tellUpdate);
      request.signal.addEventListener('abort', listening.end, { once: true });
      const response = await stateless.fetch(request, { parsedBody: listening.message });
      // A request that is refused opens no stream.
      if (request.signal.aborted || response.headers.get('content-type') !== 'text/event-stream') listening.end();
      return response;
    },
    async connect(session, initialize, send) {
      const server = await servers.create(session);
      // The lane answered `initialize`; the server learns of it again.
      let onReplayed = (): void => {};
      const replayed = new Promise<void>((resolve) => {
        onReplayed = resolve;
      });
      const transport: Transport = {
        async start() {},
        async send(message, sending) {
          if ('id' in message && message.id === REPLAY_ID) onReplayed();
          else send(message as Message, sending?.relatedRequestId);
        },
        async close() {},
      };
      await server.connect(transport);
      transport.onmessage?.({ ...initialize, id: REPLAY_ID } as JSONRPCMessage);
      await replayed;
      return {
        deliver: (message, exchange) =>
          transport.onmessage?.(message as JSONRPCMessage, { request: exchange?.toRequest() } as MessageExtraInfo),
        close() {
          transport.onclose?.();
        },
      };
    },
    announceTools: () => stateless.notify.toolsChanged(),
    announceOffers: (kind) =>
      kind === 'resources' ? stateless.notify.resourcesChanged() : stateless.notify.promptsChanged(),
    close: () => stateless.close(),
  };
}
