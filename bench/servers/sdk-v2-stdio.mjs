// The same tools served by the MCP SDK, version 2.

import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { createSdkServer } from './sdk-server.mjs';
import { zodSchema } from './zod-schema.mjs';

await createSdkServer(McpServer, zodSchema).connect(new StdioServerTransport());
