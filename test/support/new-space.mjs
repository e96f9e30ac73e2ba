// Prints the bytes of the engine's space for new objects after many calls over stdio of a tool that keeps its last results.

import { writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import { getHeapSpaceStatistics } from 'node:v8';
import { createToolbox } from '../../dist/index.js';
import { serveMcpStdio } from '../../dist/mcp-server/index.js';

const CALLS = 60_000;
// What they keep survives a collection, and the engine enlarges the space when the sum has reached its size.
const KEPT = new Array(20);
const SIZE = 1000;

const execute = ({ at }) => {
  KEPT[at % KEPT.length] = new Array(SIZE).fill(at);
  return 'kept';
};
const inputSchema = { type: 'object', properties: { at: { type: 'integer' } } };
const toolbox = createToolbox({ tools: [{ name: 'keep', description: 'Keeps a list.', inputSchema, execute }] });
const input = new Readable({ read() {} });
let answered = () => {};
serveMcpStdio(toolbox, { version: '0', input, write: () => void answered() });

const ask = (id, method, params) =>
  new Promise((resolve) => {
    answered = resolve;
    input.push(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  });
await ask(0, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '0' },
});
input.push('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
for (let at = 1; at <= CALLS; at++) await ask(at, 'tools/call', { name: 'keep', arguments: { at } });
const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
writeSync(1, String(space_size));
process.exit();
