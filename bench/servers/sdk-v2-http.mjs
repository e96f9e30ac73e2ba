// The same tools served over HTTP by the MCP SDK, version 2: without sessions for the newer protocol version, with a
// server and a transport for each session for the older one.

import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { listenWeb } from './listen.mjs';
import { createSdkServer } from './sdk-server.mjs';
import { zodSchema } from './zod-schema.mjs';

const create = () => createSdkServer(McpServer, zodSchema);
const stateless = createMcpHandler(create, { legacy: 'reject' });
const sessions = new Map();

listenWeb(async (request) => {
  const known = sessions.get(request.headers.get('mcp-session-id'));
  if (known !== undefined) return known.handleRequest(request);
  if (!(await isLegacyRequest(request.clone()))) return stateless.fetch(request);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await create().connect(transport);
  return transport.handleRequest(request);
});
