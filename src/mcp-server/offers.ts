// Resources, prompts and completions of a toolbox over the protocol.

import { formatError } from '../core/error.js';
import type { Json, JsonObject } from '../core/json.js';
import type { ToolResult } from '../core/result.js';
import type { CallOptions, Toolbox } from '../core/toolbox.js';
import { RpcError } from '../net/mcp.js';
import { resolveAppUri } from './apps.js';
import { MODEL } from './listing.js';
import { ERROR } from './message.js';
import { pageAt } from './pages.js';
import type { Server, ServerContext } from './sdk.js';
import type { CallOutcome } from './suspended-calls.js';

// Clients may cache lists and contents for this long.
export const CACHE_HINTS = {
  'resources/list': { ttlMs: 5000, cacheScope: 'private' },
  'resources/templates/list': { ttlMs: 5000, cacheScope: 'private' },
  'resources/read': { ttlMs: 1000, cacheScope: 'private' },
  'prompts/list': { ttlMs: 5000, cacheScope: 'private' },
} as const;

export interface OfferHandlers {
  readonly server: Server;
  readonly toolbox: Toolbox;
  /** Runs a call that may ask the client's user; `id` and `input` identify it. */
  serve(
    context: ServerContext,
    id: string,
    input: Json,
    run: (options: CallOptions) => Promise<ToolResult>,
  ): Promise<CallOutcome>;
}

export function registerOffers({ server, toolbox, serve }: OfferHandlers): void {
  const list = async <T>(all: readonly T[], cursor: string | undefined, member: string) => {
    const { from, to, nextCursor } = pageAt(cursor, all.length);
    return { [member]: all.slice(from, to), nextCursor };
  };
  const resources = async (isTemplate: boolean) =>
    (await toolbox.catalog.resources.list({ caller: MODEL })).filter((one) => one.isTemplate === isTemplate);

  server.setRequestHandler('resources/list', async ({ params }) => {
    const all = (await resources(false)).map(({ uri, fields }) => ({ ...fields, uri }));
    return list(all, params?.cursor, 'resources') as never;
  });
  server.setRequestHandler('resources/templates/list', async ({ params }) => {
    const all = (await resources(true)).map(({ uri, fields }) => ({ ...fields, uriTemplate: uri }));
    return list(all, params?.cursor, 'resourceTemplates') as never;
  });
  server.setRequestHandler('resources/read', async ({ params }, context) => {
    const uri = resolveAppUri(params.uri, context.mcpReq._meta);
    const outcome = await serve(context, `resource:${uri}`, {}, (options) =>
      toolbox.catalog.resources.read(uri, options),
    );
    if ('resultType' in outcome) return outcome as never;
    assertOk(outcome, { uri });
    // A resource without contents has an empty text here.
    const parts = outcome.content.filter((part) => part.type !== 'text' || part.text !== '');
    const contents = parts.map((part) =>
      part.type === 'resource' ? part.resource : { uri, text: part.type === 'text' ? part.text : '' },
    );
    return { contents, ...metaOf(outcome) } as never;
  });
  server.setRequestHandler('prompts/list', async ({ params }) => {
    const all = (await toolbox.catalog.prompts.list({ caller: MODEL })).map(({ name, fields }) => ({
      ...fields,
      name,
    }));
    return list(all, params?.cursor, 'prompts') as never;
  });
  server.setRequestHandler('prompts/get', async ({ params }, context) => {
    const input = (params.arguments ?? {}) as Json;
    const outcome = await serve(context, `prompt:${params.name}`, input, (options) =>
      toolbox.catalog.prompts.get(params.name, input, options),
    );
    if ('resultType' in outcome) return outcome as never;
    assertOk(outcome, { name: params.name });
    return { ...(outcome.structured as JsonObject), ...metaOf(outcome) } as never;
  });
  server.setRequestHandler('completion/complete', async ({ params }, context) => {
    const { ref, argument, context: values } = params;
    const input = { ref: toUpstreamRef(ref), argument, ...(values === undefined ? {} : { context: values }) } as Json;
    const target = ref.type === 'ref/prompt' ? { prompt: ref.name } : { template: ref.uri };
    const result = await toolbox.catalog.prompts.complete(target, input, {
      caller: MODEL,
      signal: context.mcpReq.signal,
    });
    // Without completions a client shows none; an error would be shown to the person.
    return { completion: result.error === undefined ? result.structured : { values: [] } } as never;
  });
}

function metaOf({ meta: { remote } }: ToolResult): { readonly _meta?: JsonObject } {
  return remote === undefined ? {} : { _meta: remote };
}

// The name or URI at the server is filled in where the request is sent.
function toUpstreamRef(ref: { readonly type: string }): Json {
  return { type: ref.type };
}

/** Throws a `RpcError` if a call failed. */
export function assertOk({ error }: ToolResult, data: Readonly<Record<string, string>>): void {
  if (error === undefined) return;
  const isInvalid = ['not_found', 'invalid_input', 'invalid_ref'].includes(error.code);
  const code = isInvalid ? ERROR.invalidParams : ERROR.internal;
  throw new RpcError(code, formatError(error), { ...data, 'wield/error': error });
}
