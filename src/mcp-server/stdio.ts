// Serves a toolbox over stdio; the first messages of a connection decide on its protocol version.

import { deferred, nextTurn } from '../core/async.js';
import { matches } from '../core/shape.js';
import type { Toolbox } from '../core/toolbox.js';
import { ERROR } from '../net/mcp.js';
import { LineTransport, type LineTransportOptions } from './line-transport.js';
import { isRequest, type Message, PARAM_SHAPES, type RequestMessage, toNotification } from './message.js';
import { Client } from './request.js';
import { createMcpServer, failed, type McpServerOptions } from './server.js';
import { type Phase, toPhase } from './version.js';

/** Options of `serveMcpStdio`. */
export interface StdioOptions extends Pick<McpServerOptions, 'version' | 'onError' | 'notices'>, LineTransportOptions {}

/** A running MCP server over stdio. */
export interface StdioServing {
  /** Resolves when the client has disconnected. */
  readonly ended: Promise<void>;
  /** Ends the session. */
  close(): Promise<void>;
}

/** Serves a toolbox to one MCP client over stdin and stdout. */
export function serveMcpStdio(toolbox: Toolbox, options: StdioOptions): StdioServing {
  let phase: Phase = 'opening';
  const { promise: ended, resolve: end } = deferred<void>();
  const transport = new LineTransport(options, {
    isIdle: () => client.isIdle,
    onMessage: (message) => receive(message),
    onError: (error) => options.onError?.(error),
    onClose() {
      server.close();
      client.close();
      end();
    },
  });
  const send = (text: string): void => transport.send(text);
  // Not a secret: clients cannot name a session here. node:crypto would delay the first answers by 8 ms.
  const client = new Client(`stdio ${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`, send);
  const server = createMcpServer(toolbox, {
    ...options,
    transport: 'pipe',
    ready: (call) => transport.ready(call),
  });

  const answer = async (message: RequestMessage): Promise<void> => {
    try {
      const answered = await server.answer(message, { client, isNewer: phase !== 'older', send });
      if (answered !== undefined) transport.answer(message.id, answered.parts);
    } catch (error) {
      transport.fail(message, error);
    }
  };
  const receive = (message: Message): void => {
    const { id, method, params } = message;
    if (method === undefined) return void client.requests.receive(message);
    if (id !== undefined && client.isRunning(id))
      return void transport.reject(ERROR.invalidRequest, 'a request with this id is already running', id);
    const next = toPhase(phase, message);
    if (typeof next !== 'string') {
      if (isRequest(message)) transport.answer(message.id, failed(message.id, next).parts);
      return;
    }
    phase = next;
    if (isRequest(message)) void answer(message);
    else if (method === 'notifications/cancelled' && matches(PARAM_SHAPES.cancelled, params))
      client.cancel(params.requestId, params.reason);
  };

  server.listings.onChange(({ kind, concerns }) => {
    if (phase === 'older' && concerns(client.autoMode))
      client.announceChange(kind, () => send(toNotification(`notifications/${kind}/list_changed`)));
  });
  transport.start();
  return {
    ended,
    async close() {
      server.close();
      // Subscriptions end with a last message.
      await nextTurn();
      await transport.flushed();
      transport.close();
    },
  };
}
