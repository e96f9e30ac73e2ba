// Serves a toolbox over Streamable HTTP: who may ask is settled before a byte of the body is read.

import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  readRequestBody,
} from '@modelcontextprotocol/server';
import { isToolError } from '../core/error.js';
import { parseJson } from '../core/json.js';
import { count } from '../core/text.js';
import type { Toolbox } from '../core/toolbox.js';
import { type AccessOptions, refuseRequest } from './access.js';
import { MODEL } from './offer.js';
import { refusal } from './refusal.js';
import { createMcpServers, type McpServerOptions } from './server.js';
import { createSessions } from './sessions.js';

export interface HttpOptions extends McpServerOptions {
  readonly access: AccessOptions;
}

export interface HttpHandler {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** The one path that speaks the protocol. */
export const MCP_PATH = '/mcp';

const MAX_BODY_BYTES = 12 * 1024 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BODY_BYTES };
// Requests that are answered at once; streams that only wait for news are bounded elsewhere.
const MAX_REQUESTS = 256;

export function createMcpHttp(toolbox: Toolbox, options: HttpOptions): HttpHandler {
  const servers = createMcpServers(toolbox, options);
  const sessions = createSessions(() => servers.create(`session ${randomUUID()}`));
  // The newer era has no sessions: whoever may speak to this server is one principal.
  const modern = createMcpHandler(() => servers.create('http'), {
    legacy: 'reject',
    maxRequestBodySize: MAX_BODY_BYTES,
    ...(options.onError ? { onerror: options.onError } : {}),
  });
  servers.onChange(() => {
    modern.notify.toolsChanged();
    sessions.tellChanged();
  });
  let running = 0;

  const serve = async (request: Request): Promise<Response> => {
    // A GET holds a stream open and DELETE ends a session; both belong to the older era and have no body.
    if (request.method !== 'POST') return sessions.handle(request, undefined);
    if (!isJsonContentType(request.headers.get('content-type'))) return refusal(415, 'send application/json');
    const body = await readBody(request);
    if (body instanceof Response) return body;
    const legacy = await isLegacyRequest(request, body.value);
    return legacy ? sessions.handle(request, body.value) : modern.fetch(request, { parsedBody: body.value });
  };

  return {
    async fetch(request) {
      const refused = refuseRequest(request, options.access);
      if (refused) return refused;
      const { pathname } = new URL(request.url);
      if (pathname === '/') return introduce(request, toolbox);
      if (pathname !== MCP_PATH) return refusal(404, `nothing is here; the protocol is at ${MCP_PATH}`);
      if (!['POST', 'GET', 'DELETE'].includes(request.method)) return refusal(405, 'use POST, GET or DELETE');
      if (request.method === 'POST' && running >= MAX_REQUESTS)
        return refusal(503, 'too many requests at once');
      running++;
      try {
        return await serve(request);
      } finally {
        running--;
      }
    },
    async close() {
      servers.close();
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

async function readBody(request: Request): Promise<{ readonly value: unknown } | Response> {
  const body = await readRequestBody(request, MAX_BODY_BYTES);
  if (body.tooLarge) return refusal(413, 'the body is larger than 12 MiB');
  try {
    return { value: parseJson(body.text, 'the body', BOUNDS) };
  } catch (error) {
    return refusal(400, isToolError(error) ? error.message : 'the body is not JSON', -32700);
  }
}

// For a person with a browser, and nothing that a page elsewhere could use.
async function introduce(request: Request, toolbox: Toolbox): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return refusal(405, 'use GET');
  const offered = await toolbox.list({ caller: MODEL, knownOnly: true });
  // What the person put there; that wield has tools of its own is no news to them.
  const tools = offered.filter(({ origin }) => origin.builtin !== true);
  const url = new URL(MCP_PATH, request.url).href;
  const lines = [
    'This is wield, a server of tools for AI agents.',
    '',
    `  It speaks the Model Context Protocol (Streamable HTTP) at ${url}`,
    `  It serves ${count(tools.length, 'tool')}: ${tools
      .slice(0, 20)
      .map((tool) => tool.name)
      .join(', ')}${tools.length > 20 ? ', …' : ''}`,
    '',
    'Connect an agent to that address; there is nothing to see here in a browser.',
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
