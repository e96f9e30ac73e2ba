// Creates a high-level server of an MCP SDK with the benchmark tools; both versions have the same interface for it.

import { COUNT, DESCRIPTION, execute, toolNames } from './tool.mjs';

export function createSdkServer(McpServer, inputSchema) {
  const server = new McpServer({ name: 'bench', version: '0' });
  for (const name of toolNames(COUNT)) {
    server.registerTool(name, { description: DESCRIPTION, inputSchema }, async (input) => ({
      content: [{ type: 'text', text: execute(input) }],
    }));
  }
  return server;
}
