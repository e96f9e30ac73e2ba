// Function tools served over stdio by `serveMcpStdio`.

import { createToolbox } from '../../dist/index.js';
import { serveMcpStdio } from '../../dist/mcp-server/index.js';
import { COUNT, DESCRIPTION, execute, inputSchema, toolNames } from './tool.mjs';

const tools = toolNames(COUNT).map((name) => ({ name, description: DESCRIPTION, inputSchema, execute }));
const { ended } = serveMcpStdio(createToolbox({ tools }), {
  version: '0',
  input: process.stdin,
  write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, () => resolve())),
});
await ended;
process.exit();
