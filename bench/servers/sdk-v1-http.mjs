// The same tools served over HTTP by the MCP SDK, version 1: a server and a transport for each session.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { listen } from './listen.mjs';
import { createSdkServer } from './sdk-server.mjs';
import { shape } from './zod-schema.mjs';

const sessions = new Map();

listen(
  createServer(async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known !== undefined) return known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await createSdkServer(McpServer, shape).connect(transport);
    await transport.handleRequest(request, response);
  }),
);
