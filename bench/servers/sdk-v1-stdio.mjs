// The same tools served by the MCP SDK, version 1.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createSdkServer } from './sdk-server.mjs';
import { shape } from './zod-schema.mjs';

await createSdkServer(McpServer, shape).connect(new StdioServerTransport());
