// The protocol server: `tools/list` and `tools/call` over a toolbox, for both protocol versions.

import { createHash } from 'node:crypto';
import {
  type CallToolRequest,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker';
import type { ErrorValue } from '../core/error.js';
import { canonicalJson, isRecord, type Json } from '../core/json.js';
import { formatError } from '../core/model-text.js';
import { decodeName } from '../core/name.js';
import { findHeaderMismatch } from '../core/param-headers.js';
import { isFailedOutput, type ToolResult } from '../core/result.js';
import type { CallOptions, Toolbox } from '../core/toolbox.js';
import { createInteractiveCalls, type InteractiveCalls } from './interactive-calls.js';
import { createLiveListing, MODEL } from './listing.js';
import { CACHE_HINTS, CAPABILITIES, registerOffers, watchOffers } from './offers.js';
import { pageOf } from './paging.js';
import { readClientName, readTraceParent, toLogListener, toProgressListener } from './request-meta.js';
import { toCallToolResult } from './result.js';
import type { CallOutcome } from './suspended-calls.js';

export interface McpServerOptions {
  readonly version: string;
  /** Receives errors of the protocol layer; serving continues. */
  readonly onError?: (error: Error) => void;
  /** Delays calls while the client does not read its responses. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
}

/** Creates servers that share one listing, so that a server for each connection or request is cheap. */
export interface McpServers {
  /** `session` identifies the client that may read the stored results of its calls (CTX-3). */
  create(session: string): Promise<Server>;
  /** Calls the listener when the listing has changed. */
  onChange(listener: () => void): void;
  /** Calls the listener when the resources or prompts have changed. */
  onOffersChange(listener: (kind: 'resources' | 'prompts') => void): void;
  /** Returns what is wrong with the `Mcp-Param-*` headers of a request, if anything (SRV-18). */
  findHeaderMismatch(message: unknown, headers: Headers): Promise<ReturnType<typeof findHeaderMismatch>>;
  close(): void;
}

// Clients without a subscription may cache the listing for this long.
const LIST_TTL_MS = 5000;

export function createMcpServers(toolbox: Toolbox, options: McpServerOptions): McpServers {
  const listing = createLiveListing(toolbox, options.onError);
  const offers = watchOffers(toolbox);
  const calls = createInteractiveCalls();
  const serve = createServe(calls, options);

  const list = async (cursor: string | undefined) => {
    const { tools } = await listing.read();
    const { from, to, nextCursor } = pageOf(cursor, tools.length);
    return { tools: tools.slice(from, to) as never, nextCursor };
  };

  const call = async (server: Server, session: string, params: CallToolRequest['params'], context: ServerContext) => {
    const known = await listing.known();
    const name = known.names.get(params.name) ?? decodeName(params.name);
    const input = params.arguments ?? {};
    const outcome = await serve({ server, session, context }, name, input as Json, (given) =>
      toolbox.call(name, input, given),
    );
    if (isInputRequiredResult(outcome)) return outcome;
    // This call may have been the first to connect to the tool's upstream server.
    const current = known.names.has(params.name) ? known : await listing.rereadKnown();
    const { names, outputs, structured } = current;
    if (outcome.error !== undefined && !names.has(params.name)) rejectUnknown(outcome.error);
    const schema = outputs.get(params.name);
    const mayBeInText = !structured.has(params.name) && !isFailedOutput(outcome.structured);
    // A client that does not know an output schema needs no structured content beside a handle.
    const withStructured =
      !mayBeInText &&
      (outcome.meta.handle === undefined || schema !== undefined) &&
      (outcome.ok || schema === undefined || (await matchesOutput(toolbox, name, outcome)));
    return server.projectCallToolResult(toCallToolResult(outcome, withStructured), schema);
  };

  return {
    async create(session) {
      const instructions = await toolbox.workspace.instructions();
      const server = new Server(
        { name: 'wield', version: options.version },
        {
          capabilities: CAPABILITIES,
          instructions: instructions || undefined,
          cacheHints: { ...CACHE_HINTS, 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
          requestState: { verify: calls.verifyState },
          // The default validator takes 60 ms to construct.
          jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
        },
      );
      server.onerror = options.onError;
      server.setRequestHandler('tools/list', ({ params }) => list(params?.cursor));
      server.setRequestHandler('tools/call', ({ params }, context) => call(server, session, params, context));
      registerOffers({
        server,
        toolbox,
        serve: (context, id, input, run) => serve({ server, session, context }, id, input, run),
      });
      return server;
    },
    onChange: listing.onChange,
    onOffersChange: offers.onChange,
    async findHeaderMismatch(message, headers) {
      const { method, params } = isRecord(message) ? message : {};
      if (method !== 'tools/call' || !isRecord(params)) return undefined;
      const declared = (await listing.known()).headers.get(String(params.name));
      return declared && findHeaderMismatch(declared, params.arguments, (name) => headers.get(name));
    },
    close() {
      listing.close();
      offers.close();
      calls.close();
    },
  };
}

interface ServedRequest {
  readonly server: Server;
  readonly session: string;
  readonly context: ServerContext;
}

// Runs a call of a tool, a resource or a prompt for a request; `id` and `input` identify it.
function createServe(calls: InteractiveCalls, { ready }: McpServerOptions) {
  return (
    { server, session, context }: ServedRequest,
    id: string,
    input: Json,
    run: (options: CallOptions) => Promise<ToolResult>,
  ): Promise<CallOutcome> => {
    const caller = { ...MODEL, session, name: readClientName(server, context) };
    return calls.serve({
      server,
      context,
      client: `${session} ${caller.name ?? ''}`,
      onProgress: toProgressListener(context),
      binding: () => hash([session, caller.name ?? '', id, input]),
      run: (interaction) =>
        run({ caller, ...interaction, ready, trace: readTraceParent(context), onLog: toLogListener(context) }),
    });
  };
}

// An unknown tool is a protocol error; what else goes wrong with a call is a result.
function rejectUnknown(error: ErrorValue): void {
  if (error.code !== 'not_found' && error.code !== 'invalid_ref') return;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, formatError(error), { 'wield/error': error });
}

function hash(parts: readonly Json[]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex');
}

// Older clients validate the structured content of a failed call too.
async function matchesOutput(toolbox: Toolbox, name: string, { structured }: ToolResult): Promise<boolean> {
  if (structured === undefined) return false;
  const tool = await toolbox.find(name).catch(() => undefined);
  return (await tool?.output?.check(structured))?.ok === true;
}
