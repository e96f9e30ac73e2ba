// Serves a toolbox over Streamable HTTP.

import { randomUUID } from 'node:crypto';
import { createMcpHandler, isJsonContentType, isLegacyRequest, readRequestBody } from '@modelcontextprotocol/server';
import { isToolError } from '../core/error.js';
import { isRecord, parseJson } from '../core/json.js';
import { count } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { type AccessOptions, checkAccess } from './access.js';
import { MODEL } from './listing.js';
import { createMcpServers, type McpServerOptions } from './server.js';
import { createSessions, errorResponse } from './sessions.js';

export interface HttpOptions extends McpServerOptions {
  readonly access: AccessOptions;
}

export interface HttpHandler {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Path of the MCP endpoint. */
export const MCP_PATH = '/mcp';

const MAX_BODY_BYTES = 12 * 1024 * 1024;
// The protocol's code for headers that differ from the body.
const HEADER_MISMATCH = -32020;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BODY_BYTES };
// Requests whose body has been read. Slow bodies and open event streams are limited elsewhere.
const MAX_REQUESTS = 256;

export function createMcpHttp(toolbox: Toolbox, options: HttpOptions): HttpHandler {
  const servers = createMcpServers(toolbox, options);
  const sessions = createSessions(() => servers.create(`session ${randomUUID()}`));
  // The newer protocol version has no sessions: all clients with access share one.
  const stateless = createMcpHandler(() => servers.create('http'), {
    legacy: 'reject',
    maxRequestBodySize: MAX_BODY_BYTES,
    onerror: options.onError,
  });
  servers.onChange(() => {
    stateless.notify.toolsChanged();
    sessions.sendToolListChanged();
  });
  servers.onOffersChange((kind) => {
    if (kind === 'resources') stateless.notify.resourcesChanged();
    else stateless.notify.promptsChanged();
    sessions.announceOffers(kind);
  });
  let running = 0;

  const serve = async (request: Request): Promise<Response> => {
    // GET opens a stream and DELETE ends a session, both only in the older protocol version.
    if (request.method !== 'POST') return sessions.handle(request, undefined);
    if (!isJsonContentType(request.headers.get('content-type')))
      return errorResponse(415, 'Content-Type must be application/json');
    const body = await readBody(request);
    if (body instanceof Response) return body;
    if (running >= MAX_REQUESTS) return errorResponse(503, 'too many concurrent requests');
    running++;
    try {
      if (await isLegacyRequest(request, body.value)) return await sessions.handle(request, body.value);
      const mismatch = await servers.findHeaderMismatch(body.value, request.headers);
      if (mismatch !== undefined) return headerMismatch(body.value, mismatch);
      return await stateless.fetch(request, { parsedBody: body.value });
    } finally {
      running--;
    }
  };

  return {
    async fetch(request) {
      const refused = checkAccess(request, options.access);
      if (refused) return refused;
      const { pathname } = new URL(request.url);
      if (pathname === '/') return describeServer(request, toolbox);
      if (pathname !== MCP_PATH) return errorResponse(404, `not found; the MCP endpoint is ${MCP_PATH}`);
      if (!['POST', 'GET', 'DELETE'].includes(request.method))
        return errorResponse(405, 'method not allowed; use POST, GET or DELETE');
      return serve(request);
    },
    async close() {
      servers.close();
      await Promise.all([stateless.close(), sessions.close()]);
    },
  };
}

async function readBody(request: Request): Promise<{ readonly value: unknown } | Response> {
  const body = await readRequestBody(request, MAX_BODY_BYTES);
  if (body.tooLarge) return errorResponse(413, 'the body is larger than 12 MiB');
  try {
    return { value: parseJson(body.text, 'the body', BOUNDS) };
  } catch (error) {
    return errorResponse(400, isToolError(error) ? error.message : 'the body is not JSON', -32700);
  }
}

function headerMismatch(message: unknown, { header, problem }: { header: string; problem: string }): Response {
  const id = isRecord(message) ? (message.id ?? null) : null;
  const error = { code: HEADER_MISMATCH, message: problem, data: { mismatch: { header, body: problem } } };
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 400 });
}

// For people who open the address in a browser.
async function describeServer(request: Request, toolbox: Toolbox): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return errorResponse(405, 'method not allowed; use GET');
  const listed = await toolbox.list({ caller: MODEL, knownOnly: true });
  const tools = listed.filter(({ origin }) => origin.builtin !== true);
  const url = new URL(MCP_PATH, request.url).href;
  const lines = [
    'wield: an MCP server with tools for AI agents.',
    '',
    `  MCP endpoint (Streamable HTTP): ${url}`,
    `  ${count(tools.length, 'tool')}: ${tools
      .slice(0, 20)
      .map((tool) => tool.name)
      .join(', ')}${tools.length > 20 ? ', …' : ''}`,
    '',
    'Connect an agent to the endpoint; there is nothing else to see in a browser.',
    '',
  ];
  return new Response(lines.join('\n'), {
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
  });
}
