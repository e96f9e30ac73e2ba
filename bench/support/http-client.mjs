// HTTP client with one keep-alive connection, for both protocol versions.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { askCpu, ENVIRONMENT } from './measure.mjs';

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a server that prints its port or URL. */
export async function startHttpServer(argv, { probed = false, cwd, env = ENVIRONMENT } = {}) {
  const stdio = ['ignore', 'pipe', 'inherit', ...(probed ? ['ipc'] : [])];
  const child = spawn(argv[0], argv.slice(1), { cwd, env, stdio });
  running.add(child);
  const port = await readPort(child.stdout);
  await untilListening(port);
  return {
    port,
    pid: child.pid,
    cpu: probed ? () => askCpu(child) : undefined,
    async stop() {
      running.delete(child);
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

// Some servers print other lines too.
async function readPort(stdout) {
  let text = '';
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    text += chunk;
    const found = /^(?:http:\S+:)?(\d+)(?:\/mcp)?$/m.exec(text);
    if (found !== null && text.indexOf('\n', found.index) !== -1) {
      stdout.resume();
      return Number(found[1]);
    }
  }
  throw new Error(`the server ended: ${text}`);
}

async function untilListening(port) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await sleep(100);
  }
  throw new Error('the server does not listen');
}

/** Creates a client of the newer protocol version, whose requests are independent; `more` are further headers. */
export function createModernClient(port, more = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (name, input, signal) =>
    post({
      port,
      agent,
      signal,
      headers: { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name, ...more },
      body: {
        method: 'tools/call',
        params: {
          name,
          arguments: input,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': MODERN,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
    });
}

/** Creates a client of the older protocol version, with a session. */
export async function createSessionClient(port) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const clientInfo = { name: 'bench', version: '0' };
  const { headers, text } = await post({
    port,
    agent,
    body: { method: 'initialize', params: { protocolVersion: LEGACY, capabilities: {}, clientInfo } },
  });
  const [, version] = /"protocolVersion":"([^"]+)"/.exec(text);
  const own = { 'mcp-session-id': headers['mcp-session-id'], 'mcp-protocol-version': version };
  await post({ port, agent, headers: own, body: { method: 'notifications/initialized' } });
  return (name, input) =>
    post({ port, agent, headers: own, body: { method: 'tools/call', params: { name, arguments: input } } });
}

function post({ port, agent, signal, headers = {}, body }) {
  const isNotification = body.method.startsWith('notifications/');
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...(isNotification ? {} : { id: 1 }), ...body }));
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        agent,
        signal,
        path: '/mcp',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'content-length': bytes.length,
          ...headers,
        },
      },
      (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => resolve({ headers: response.headers, text: Buffer.concat(chunks).toString('utf8') }));
      },
    );
    asked.once('error', reject);
    asked.end(bytes);
  });
}
