// The same tools served by the high-level server of the MCP SDK, version 1.

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { COUNT, DESCRIPTION, execute, toolNames } from './tool.mjs';

const server = new McpServer({ name: 'bench', version: '0' });
const inputSchema = {
  name: z.string().describe('The part to publish.'),
  count: z.number().int().optional().describe('How often to try again.'),
};
for (const name of toolNames(COUNT)) {
  server.registerTool(name, { description: DESCRIPTION, inputSchema }, async (input) => ({
    content: [{ type: 'text', text: execute(input) }],
  }));
}
await server.connect(new StdioServerTransport());
