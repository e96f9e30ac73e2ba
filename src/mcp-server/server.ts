// The protocol server of one connection or request: two methods over a toolbox, for both eras.

import { createHash } from 'node:crypto';
import {
  CLIENT_INFO_META_KEY,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker';
import type { Progress } from '../core/context.js';
import { canonicalJson, isRecord, type Json } from '../core/json.js';
import { decodeName } from '../core/name.js';
import type { Toolbox, TraceParent } from '../core/toolbox.js';
import { createOffer, MODEL, type Offer } from './offer.js';
import { createMcpPerson } from './person.js';
import { toCallToolResult } from './result.js';

export interface McpServerOptions {
  readonly version: string;
  /** Where errors of the protocol layer are told; they change nothing. */
  readonly onError?: (error: Error) => void;
  /** Holds calls back before they run, while what was answered is not read. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
}

/** What every connection shares: the offer is made once, a server object costs next to nothing. */
export interface McpServers {
  /** `session` says whose large results its client can read (CTX-3). */
  create(session: string): Promise<Server>;
  /** Told when the offer has become another. */
  onChange(listener: () => void): () => void;
  close(): void;
}

// Clients that page see every tool; those that do not see this many.
const PAGE_SIZE = 1000;
// A watcher tells of changes at once; this bounds how long a client without a subscription believes its list.
const LIST_TTL_MS = 5000;

export function createMcpServers(toolbox: Toolbox, options: McpServerOptions): McpServers {
  const readOffer = createOffer(toolbox);
  const person = createMcpPerson();
  const listeners = new Set<() => void>();
  // What clients know at the least. One that lists first does not keep the others from being told.
  let told: Offer | undefined;
  // The newest that was made. A call goes by it, and so looks at no catalog.
  let current: Offer | undefined;
  const unwatch = toolbox.watch(() => {
    // Whoever was told nothing yet misses nothing; looking could start servers that nobody has asked for.
    if (told === undefined) {
      current = undefined;
      return;
    }
    void readOffer().then((offer) => {
      current = offer;
      if (offer === told) return;
      told = offer;
      for (const listener of listeners) listener();
    }, options.onError);
  });

  const create = async (session: string): Promise<Server> => {
    const instructions = await toolbox.instructions();
    const server = new Server(
      { name: 'wield', version: options.version },
      {
        capabilities: { tools: { listChanged: true } },
        ...(instructions === '' ? {} : { instructions }),
        cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
        requestState: { verify: person.verify },
        // Without this the constructor builds a validator that costs 60 ms.
        jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
      },
    );
    if (options.onError) server.onerror = options.onError;
    server.setRequestHandler('tools/list', async ({ params }) => {
      const offer = await readOffer();
      told ??= offer;
      current = offer;
      const { from, to } = pageOf(params?.cursor, offer.tools.length);
      return {
        tools: offer.tools.slice(from, to) as never,
        ...(to < offer.tools.length ? { nextCursor: `from:${to}` } : {}),
      };
    });
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      // A call is about one tool: nothing else is asked what it has.
      current ??= await readOffer({ knownOnly: true });
      const known = current;
      const name = known.names.get(params.name) ?? decodeName(params.name);
      const input = params.arguments ?? {};
      const caller = { ...MODEL, session, ...clientName(server, context) };
      const turn = await person.serve({
        server,
        context,
        ...progressOption(context),
        binding: () => hash([session, caller.name ?? '', name, input as Json]),
        run: (asking) =>
          toolbox.call(name, input, {
            caller,
            ...asking,
            ...(options.ready ? { ready: options.ready } : {}),
            ...traceOption(context),
          }),
      });
      if (isInputRequiredResult(turn)) return turn;
      // The tool of a server that was asked for the first time by this very call is known by now.
      const { outputs, structured } = known.names.has(params.name)
        ? known
        : await readOffer({ knownOnly: true });
      const outputSchema = outputs.get(params.name);
      return server.projectCallToolResult(toCallToolResult(turn, structured.has(params.name)), outputSchema);
    });
    return server;
  };

  return {
    create,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      unwatch();
      person.close();
    },
  };
}

function hash(parts: readonly Json[]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex');
}

function pageOf(cursor: string | undefined, length: number): { from: number; to: number } {
  const from = cursor === undefined ? 0 : Number(/^from:(\d{1,9})$/.exec(cursor)?.[1] ?? Number.NaN);
  if (Number.isNaN(from) || (from > 0 && from >= length)) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'this cursor is none of ours; list again without one',
    );
  }
  return { from, to: Math.min(from + PAGE_SIZE, length) };
}

function clientName(server: Server, context: ServerContext): { name?: string } {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
  const info = envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
  return isRecord(info) && typeof info.name === 'string' ? { name: info.name } : {};
}

// The caller's span, as the conventions for traces over this protocol hand it on.
function traceOption({ mcpReq }: ServerContext): { trace?: TraceParent } {
  const { traceparent, tracestate } = (mcpReq._meta ?? {}) as Record<string, unknown>;
  if (typeof traceparent !== 'string') return {};
  return { trace: { traceparent, ...(typeof tracestate === 'string' ? { tracestate } : {}) } };
}

// The protocol wants each value to be higher than the one before, also where a tool only says that it lives.
function progressOption({ mcpReq }: ServerContext): { onProgress?: (progress: Progress) => void } {
  const token = mcpReq._meta?.progressToken;
  if (token === undefined) return {};
  let last = -1;
  return {
    onProgress: ({ done, total, message }) => {
      const progress = done !== undefined && done > last ? done : Math.max(last, 0) + 0.01;
      last = progress;
      mcpReq
        .notify({
          method: 'notifications/progress',
          params: {
            progressToken: token,
            progress,
            ...(total === undefined ? {} : { total }),
            ...(message === undefined ? {} : { message }),
          },
        })
        .catch(() => {});
    },
  };
}
