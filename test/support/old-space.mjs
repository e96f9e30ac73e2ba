// Prints how many bytes of the old space of the engine a call takes: over a transport, or of a script by the helper process.
// `node --expose-gc old-space.mjs stdio|HTTP|script`

import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { createToolbox } from '../../dist/index.js';
import { createMcpHttp, serveMcpStdio } from '../../dist/mcp-server/index.js';
import { createNodeToolbox } from '../../dist/node.js';

const WARM_UP = 3000;
const CALLS = 3000;
const VERSION = '2026-07-28';
const _meta = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const params = { name: 'echo', arguments: { text: 'hello' }, _meta };
const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
const execute = ({ text }) => text;
const toolbox = createToolbox({ tools: [{ name: 'echo', description: 'Returns a text.', inputSchema, execute }] });

// Small, so that objects which live too long become old at once. A script takes longer than that, so it needs more.
if (process.argv[2] !== 'script') setFlagsFromString('--semi-space-growth-factor=1');

let answered = () => {};

function openStdio() {
  const input = new Readable({ read() {} });
  serveMcpStdio(toolbox, { version: '0', input, write: () => void answered() });
  return (message) => input.push(`${message}\n`);
}

async function openHttp() {
  const server = createServer(createMcpHttp(toolbox, { version: '0', access: { host: '127.0.0.1' } }).listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  const head = [
    'POST /mcp HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    `mcp-protocol-version: ${VERSION}`,
    'mcp-method: tools/call',
    'mcp-name: echo',
  ].join('\r\n');
  const socket = connect(port, '127.0.0.1').on('data', () => answered());
  return (message) => socket.write(`${head}\r\ncontent-length: ${message.length}\r\n\r\n${message}`);
}

function openScript() {
  const workdir = mkdtempSync(join(tmpdir(), 'wield-old-space-'));
  process.once('exit', () => rmSync(workdir, { recursive: true }));
  const tools = join(workdir, '.agents', 'tools');
  mkdirSync(tools, { recursive: true });
  writeFileSync(join(tools, 'echo'), '#!/bin/sh\n# @description Returns a text.\n# @param text string\necho hello\n');
  chmodSync(join(tools, 'echo'), 0o755);
  const own = createNodeToolbox({ workdir, guard: true, env: { PATH: process.env.PATH, HOME: workdir } });
  return () => void own.call('echo', { text: 'hello' }).then(({ ok }) => (ok ? answered() : process.exit(1)));
}

const OPEN = { stdio: openStdio, HTTP: openHttp, script: openScript };
const send = await OPEN[process.argv[2]]();
let id = 0;

async function callMany(count) {
  for (let at = 0; at < count; at++) {
    await new Promise((resolve) => {
      answered = resolve;
      send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params }));
    });
  }
}

function oldBytes() {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
}

await callMany(WARM_UP);
// Makes old what the server keeps; no other object may become so by reference.
gc();
await callMany(WARM_UP);
const before = oldBytes();
await callMany(CALLS);
writeSync(1, String((oldBytes() - before) / CALLS));
process.exit();
