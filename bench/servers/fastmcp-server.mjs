// Creates a FastMCP server with the benchmark tools.

import { FastMCP } from 'fastmcp';
import { COUNT, DESCRIPTION, execute, toolNames } from './tool.mjs';
import { zodSchema } from './zod-schema.mjs';

export function createFastmcp() {
  const server = new FastMCP({ name: 'bench', version: '0.0.0' });
  for (const name of toolNames(COUNT)) {
    server.addTool({ name, description: DESCRIPTION, parameters: zodSchema, execute: async (input) => execute(input) });
  }
  return server;
}
