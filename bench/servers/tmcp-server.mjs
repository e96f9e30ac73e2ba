// Creates a tmcp server with the benchmark tools.

import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod';
import { McpServer } from 'tmcp';
import { COUNT, DESCRIPTION, execute, toolNames } from './tool.mjs';
import { zodSchema } from './zod-schema.mjs';

export function createTmcp() {
  const server = new McpServer(
    { name: 'bench', version: '0', description: 'bench' },
    { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
  );
  for (const name of toolNames(COUNT)) {
    server.tool({ name, description: DESCRIPTION, schema: zodSchema }, async (input) => ({
      content: [{ type: 'text', text: execute(input) }],
    }));
  }
  return server;
}
