// The same tools served over HTTP by mcp-lite, which has no stdio transport; prints its port.

import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from 'mcp-lite';
import { z } from 'zod';
import { listenWeb } from './listen.mjs';
import { COUNT, DESCRIPTION, execute, toolNames } from './tool.mjs';
import { zodSchema } from './zod-schema.mjs';

const server = new McpServer({ name: 'bench', version: '0', schemaAdapter: (schema) => z.toJSONSchema(schema) });
for (const name of toolNames(COUNT)) {
  server.tool(name, {
    description: DESCRIPTION,
    inputSchema: zodSchema,
    handler: (input) => ({ content: [{ type: 'text', text: execute(input) }] }),
  });
}
const sessionAdapter = new InMemorySessionAdapter({ maxEventBufferSize: 1024 });
listenWeb(new StreamableHttpTransport({ sessionAdapter }).bind(server));
