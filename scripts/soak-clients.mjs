// Raw MCP clients of the soak: both protocol versions over stdio and HTTP, with every response counted by its id.

import { spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { getPriority, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const OLDER = '2025-11-25';
const NEWER = '2026-07-28';
const CAPABILITIES = { elicitation: { form: {} } };
const INFO = { name: 'soak', version: '1' };
const META = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
  'io.modelcontextprotocol/clientInfo': INFO,
};

/** How the person decides; every second approval is given. */
function createPerson() {
  let asked = 0;
  return () => {
    const decision = asked++ % 2 === 0 ? 'run it once' : 'do not run it';
    return { action: 'accept', content: { decision } };
  };
}

/**
 * Starts `wield serve` and returns `{ pid, call, close, responses }`. `call(name, input, cancelAfterMs?)` resolves to the
 * result, the protocol error or `cancelled`; `responses` counts the responses to each request by id.
 */
export async function startClient({ transport, protocol, binary, dir, env, memoryFile }) {
  const node = ['--expose-gc', '--require', fileURLToPath(new URL('soak-memory.cjs', import.meta.url))];
  const args = [...node, binary, 'serve', ...(transport === 'http' ? ['--http', '0'] : [])];
  const child = spawn(process.execPath, args, {
    cwd: dir,
    env: { ...env, SOAK_MEMORY: memoryFile },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // The server and its tools get less time than the client, which would otherwise be too slow for its own connections.
  setPriority(child.pid, Math.min(19, getPriority() + 10));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  process.once('exit', () => child.kill('SIGKILL'));
  const state = {
    ids: 0,
    protocol,
    answer: createPerson(),
    waiting: new Map(),
    responses: new Map(),
    cancelled: new Set(),
  };
  const wire = transport === 'http' ? await openHttp(child, state) : openStdio(child, state);
  if (protocol === 'older') {
    const params = { protocolVersion: OLDER, capabilities: CAPABILITIES, clientInfo: INFO };
    await sendRequest(state, wire, 'initialize', params).settled;
    wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }
  return {
    pid: child.pid,
    responses: state.responses,
    call: (name, input, cancelAfterMs) => call(state, wire, { name, arguments: input }, cancelAfterMs),
    async close() {
      wire.close();
      if (transport === 'http') child.kill('SIGTERM');
      await exited;
    },
  };
}

async function call(state, wire, params, cancelAfterMs) {
  const sent = sendRequest(state, wire, 'tools/call', params);
  const timers = [setTimeout(() => fail(state, sent.id, 'no response within two minutes'), 120_000)];
  if (cancelAfterMs !== undefined) timers.push(setTimeout(() => cancel(state, wire, sent.id), cancelAfterMs));
  const message = await sent.settled;
  for (const timer of timers) clearTimeout(timer);
  if (message.result?.resultType !== 'input_required') return message;
  // The newer version: the call goes on with another request.
  const { inputRequests, requestState } = message.result;
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, state.answer()]));
  return call(state, wire, { ...params, requestState, inputResponses });
}

function sendRequest(state, wire, method, params) {
  const id = ++state.ids;
  state.responses.set(id, 0);
  const settled = new Promise((resolve) => state.waiting.set(id, resolve));
  const meta = state.protocol === 'newer' ? { _meta: META } : {};
  wire.send({ jsonrpc: '2.0', id, method, params: { ...params, ...meta } });
  return { id, settled };
}

function cancel(state, wire, id) {
  const resolve = state.waiting.get(id);
  if (resolve === undefined) return;
  state.waiting.delete(id);
  // Such a request gets no response, unless it was sent before the server knew.
  state.responses.set(id, 1);
  state.cancelled.add(id);
  wire.cancel(id);
  resolve({ cancelled: true });
}

function receive(state, wire, message) {
  if (message.method === 'elicitation/create') {
    wire.send({ jsonrpc: '2.0', id: message.id, result: state.answer() });
  } else if (message.id !== undefined && message.method === undefined) {
    if (state.cancelled.delete(message.id)) return;
    state.responses.set(message.id, (state.responses.get(message.id) ?? 0) + 1);
    const resolve = state.waiting.get(message.id);
    state.waiting.delete(message.id);
    resolve?.(message);
  }
}

function openStdio(child, state) {
  const wire = {
    send: (message) => child.stdin.write(`${JSON.stringify(message)}\n`),
    cancel: (requestId) => wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
    close: () => child.stdin.end(),
  };
  createInterface({ input: child.stdout }).on('line', (line) => receive(state, wire, JSON.parse(line)));
  return wire;
}

async function openHttp(child, state) {
  const url = await new Promise((resolve) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(new URL(line)));
  });
  // With a timeout of its own, the agent also closes idle connections before the server does.
  const agent = new Agent({ keepAlive: true, maxSockets: 512, timeout: 600_000 });
  const running = new Map();
  let session;
  const headersOf = ({ method, params }) => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(state.protocol === 'newer'
      ? { 'mcp-protocol-version': NEWER, 'mcp-method': method, 'mcp-name': params?.name ?? '' }
      : {}),
    ...(session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': OLDER }),
  });
  const wire = {
    send(message) {
      const sent = request(url, { method: 'POST', agent, headers: headersOf(message) }, (response) => {
        session ??= response.headers['mcp-session-id'];
        readMessages(response, (received) => receive(state, wire, received));
        response.once('close', () => {
          running.delete(message.id);
          // A response that never came is an error of the connection.
          if (message.method !== undefined && state.waiting.has(message.id))
            fail(state, message.id, `HTTP ${response.statusCode} without a response`);
        });
      });
      sent.once('error', (error) => {
        if (message.method !== undefined) fail(state, message.id, error.message);
        else console.log(`a message was lost: ${error.message}`);
      });
      sent.end(JSON.stringify(message));
      if (message.method !== undefined) running.set(message.id, sent);
    },
    cancel(requestId) {
      if (state.protocol === 'older')
        wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
      running.get(requestId)?.destroy();
    },
    close: () => agent.destroy(),
  };
  return wire;
}

function fail(state, id, message) {
  const resolve = state.waiting.get(id);
  state.waiting.delete(id);
  resolve?.({ lost: message });
}

// A JSON body, or the data lines of an event stream.
function readMessages(response, onMessage) {
  const isStream = String(response.headers['content-type']).includes('event-stream');
  const lines = createInterface({ input: response });
  lines.on('line', (line) => {
    const text = isStream ? (line.startsWith('data:') ? line.slice(5) : '') : line;
    if (text.trim() !== '') onMessage(JSON.parse(text));
  });
  // A cancelled request ends its connection.
  lines.on('error', () => {});
}
