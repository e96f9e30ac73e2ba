// The same tools served by FastMCP; run from the folder that it is installed in.

import { FastMCP } from 'fastmcp';
import { z } from 'zod';
import { COUNT, DESCRIPTION, execute, toolNames } from './tool.mjs';

const server = new FastMCP({ name: 'bench', version: '0.0.0' });
const parameters = z.object({
  name: z.string().describe('The part to publish.'),
  count: z.number().int().optional().describe('How often to try again.'),
});
for (const name of toolNames(COUNT)) {
  server.addTool({ name, description: DESCRIPTION, parameters, execute: async (input) => execute(input) });
}
await server.start({ transportType: 'stdio' });
