// Function tools served over stdio by `serveMcpStdio`; traced if OTEL_EXPORTER_OTLP_ENDPOINT is set.

import { writeSync } from 'node:fs';
import { createToolbox } from '../../dist/index.js';
import { serveMcpStdio } from '../../dist/mcp-server/index.js';
import { COUNT, DESCRIPTION, execute, inputSchema, toolNames } from './tool.mjs';

const tools = toolNames(COUNT).map((name) => ({ name, description: DESCRIPTION, inputSchema, execute }));
const { ended } = serveMcpStdio(createToolbox({ tools, telemetry: true }), {
  version: '0',
  input: process.stdin,
  // Like `wield serve`, which writes to its pipe at once.
  write(bytes) {
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
  },
});
await ended;
process.exit();
