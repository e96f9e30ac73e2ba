// The SDK server: answers what the lane does not, for both protocol versions, with the same listing and calls.

import { Cancellation } from '../core/cancellation.js';
import { isRecord } from '../core/json.js';
import type { Toolbox } from '../core/toolbox.js';
import { showsApps } from './apps.js';
import { readIdentity } from './identity.js';
import type { InputAnswer } from './input-request.js';
import { ANSWER_TIMEOUT_MS } from './interactive-calls.js';
import type { Lane, LaneOptions } from './lane.js';
import { META } from './message.js';
import { CACHE_HINTS, type OfferHandlers, registerOffers } from './offers.js';
import { CACHE_HINT, pageAt } from './pages.js';
import type { RequestContext, RequestState } from './request-context.js';
import { CfWorkerJsonSchemaValidator, Server, type ServerContext } from './sdk.js';
import { registerSubscriptions } from './subscriptions.js';
import { registerTaskRequests } from './task-requests.js';

export type McpServerOptions = LaneOptions;

/** Creates servers that share one listing, so that a server for each connection or request is cheap. */
export interface McpServers {
  /** `session` identifies the client that may read the stored results of its calls (CTX-3). */
  create(session: string): Promise<Server>;
}

export function createMcpServers(
  toolbox: Toolbox,
  { listing, calls, watch }: Pick<Lane, 'listing' | 'calls' | 'watch'>,
  options: Pick<McpServerOptions, 'version' | 'onError'>,
): McpServers {
  watch();
  const list = async (cursor: string | undefined, { capabilities }: RequestContext) => {
    const { tools: forModels, withApps } = await listing.read();
    const tools = showsApps(capabilities) ? withApps : forModels;
    const { from, to, nextCursor } = pageAt(cursor, tools.length);
    return { tools: tools.slice(from, to) as never, nextCursor };
  };
  return {
    async create(session) {
      const { tasks } = calls;
      const identity = await readIdentity(toolbox, options.version, tasks !== undefined);
      const { info, olderCapabilities, instructions } = identity;
      const server = new Server(info, {
        capabilities: olderCapabilities,
        instructions,
        cacheHints: { ...CACHE_HINTS, 'tools/list': CACHE_HINT },
        requestState: { verify: calls.verifyState },
        // The default validator takes 60 ms to construct.
        jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
      });
      server.onerror = options.onError;
      server.setRequestHandler('tools/list', ({ params }, context) =>
        list(params?.cursor, toRequestContext(server, context)),
      );
      server.setRequestHandler(
        'tools/call',
        ({ params }, context) => calls.callNow(session, params, toRequestContext(server, context)) as never,
      );
      const handlers: OfferHandlers = {
        server,
        toolbox,
        serve: (context, id, input, run) => calls.serve(session, toRequestContext(server, context), id, input, run),
      };
      registerOffers(handlers);
      registerSubscriptions(handlers);
      if (tasks !== undefined)
        registerTaskRequests({ server, session, tasks, toContext: (context) => toRequestContext(server, context) });
      return server;
    },
  };
}

function toRequestContext(server: Server, { mcpReq, http }: ServerContext): RequestContext {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const isNewer = envelope[META.version] !== undefined;
  const client = envelope[META.client] ?? server.getClientVersion();
  return {
    isNewer,
    capabilities: isNewer ? envelope[META.capabilities] : server.getClientCapabilities(),
    clientName: isRecord(client) && typeof client.name === 'string' ? client.name : undefined,
    meta: mcpReq._meta,
    logLevel: toLevel(envelope[META.logLevel] ?? mcpReq._meta?.[META.logLevel]),
    cancellation: Cancellation.of(mcpReq.signal),
    connection: http?.req?.signal,
    state: isNewer ? mcpReq.requestState<RequestState>() : undefined,
    inputResponses: mcpReq.inputResponses,
    notify: (method, params) => void mcpReq.notify({ method, params } as never).catch(() => {}),
    log: (level, data, logger) => void mcpReq.log(level as never, data, logger).catch(() => {}),
    request: async (request, signal) =>
      (await mcpReq.send(request as never, { signal, timeout: ANSWER_TIMEOUT_MS })) as unknown as InputAnswer,
  };
}

function toLevel(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
