// Row 9: cost of the hop to an upstream stdio server, compared with a raw client; memory with 20 idle upstreams.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createNodeToolbox } from '../../dist/node.js';
import { Pool } from '../../dist/upstream/connection/pool.js';
import { ProcessTransport } from '../../dist/upstream/connection/process-transport.js';
import { ENVIRONMENT, measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { serverCommand } from '../support/servers.mjs';
import { startServer } from '../support/stdio-client.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const TARGETS = {
  'wield, the hop alone': { of: 'ratio', atMost: 1.5 },
  'wield, a whole call': { of: 'ratio', atMost: 7 },
};
const ROUNDS = 25;
const CALLS = sized(400, 5);
const WARM_UP = sized(5000, 1);
const SERVERS = sized(20, 2);
const MEMORY_ROUNDS = 7;
const SETTLED_MS = sized(300, 0);
const CALL = { name: 'echo', arguments: { name: 'Ada', count: 3 } };
const [COMMAND, ...ARGS] = serverCommand('upstream-stdio.cjs');

export const row = {
  id: '9',
  title: 'the hop to an upstream server over stdio, against a raw client; memory with 20 that are not started',
  async run() {
    return [...(await measureHop()), ...(await measureMemory())];
  },
};

async function measureHop() {
  const peers = {
    'raw client (floor)': openRaw,
    'wield, the hop alone': openPooled,
    'wield, a whole call': openToolbox,
    'SDK v1': () => openSdk(ClientV1, StdioV1),
    'SDK v2': () => openSdk(ClientV2, StdioV2),
  };
  const opened = [];
  for (const [name, open] of Object.entries(peers)) {
    const { call, close } = await open();
    const text = await call();
    if (text !== 'Ada 3') throw new Error(`${name} did not reach the tool: ${text}`);
    for (let at = 0; at < WARM_UP; at++) await call();
    opened.push({ name, call, close });
  }
  const samples = await measureRounds(
    Object.fromEntries(opened.map(({ name, call }) => [name, () => timeCalls(call)])),
    ROUNDS,
  );
  for (const { close } of opened) await close();
  const [floor] = Object.values(samples);
  return Object.entries(samples).map(([name, values]) => ({
    case: name,
    value: spread(values),
    unit: 'µs',
    ratio: values === floor ? undefined : ratios(values, floor),
    target: TARGETS[name],
  }));
}

async function timeCalls(call) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await call();
  return ((performance.now() - began) * 1000) / CALLS;
}

const textOf = ({ content }) => content[0].text;

async function openRaw() {
  const server = startServer([COMMAND, ...ARGS]);
  await server.open();
  const call = async () =>
    textOf(JSON.parse(Buffer.concat(await server.ask('tools/call', CALL)).toString('utf8')).result);
  return { call, close: server.stop };
}

async function openSdk(Client, Transport) {
  const client = new Client({ name: 'bench', version: '0' });
  await client.connect(new Transport({ command: COMMAND, args: ARGS, env: ENVIRONMENT }));
  return { call: async () => textOf(await client.callTool(CALL)), close: () => client.close() };
}

// As the remote executor does, without the rest of the call path.
async function openPooled() {
  const monotonic = () => performance.now();
  const world = { env: ENVIRONMENT, home: undefined, platform: process.platform, now: Date.now, monotonic };
  const pool = new Pool({
    world: { ...world, debug: () => {}, debugging: false },
    version: '0',
    keyOf: () => 'upstream',
    open: async () =>
      new ProcessTransport(
        { argv: [COMMAND, ...ARGS], cwd: '/', environment: ENVIRONMENT },
        { ...world, debug: () => {} },
      ),
    redact: (said) => said,
    knownVersionOf: () => ({ kind: 'legacy' }),
    mayHaveBoth: () => false,
    onListing: async () => {},
    onFailure: (_, error) => {
      throw error;
    },
  });
  const { signal } = new AbortController();
  const call = async () => {
    const lease = await pool.acquire(
      { name: 'upstream', kind: 'stdio', command: COMMAND, args: ARGS },
      { env: {}, announces: [] },
      signal,
    );
    const [tool] = lease.connection.listing().tools;
    const output = await lease.connection.call(tool, CALL.arguments, { name: 'echo', signal });
    lease.release('answered');
    return textOf(output);
  };
  return { call, close: () => pool.close() };
}

async function openToolbox() {
  const { dir, home, env } = createWorkspace(0);
  configure(home, 1);
  const toolbox = createNodeToolbox({ workdir: dir, env });
  await toolbox.list();
  const call = async () => textOf(await toolbox.call('upstream-0_echo', CALL.arguments));
  return { call, close: () => toolbox.close() };
}

function configure(home, count) {
  const servers = Array.from({ length: count }, (_, at) => [
    `upstream-${at}`,
    // Different arguments make them different servers.
    { command: COMMAND, args: [...ARGS, String(at)] },
  ]);
  mkdirSync(join(home, '.agents'), { recursive: true });
  writeFileSync(join(home, '.agents', 'mcp.json'), JSON.stringify({ mcpServers: Object.fromEntries(servers) }), {
    mode: 0o600,
  });
}

async function measureMemory() {
  const bare = createWorkspace(20);
  const many = createWorkspace(20);
  configure(many.home, SERVERS);
  for (const { dir, env } of [bare, many]) {
    const { status, stderr } = spawnSync(process.execPath, [BINARY, 'list'], {
      cwd: dir,
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`wield list failed: ${stderr}`);
  }
  await settle();
  const samples = await measureRounds(
    {
      'wield serve, 20 tools (floor)': () => memoryOf(bare, 20),
      [`wield serve, 20 tools and ${SERVERS} upstreams, none started`]: () => memoryOf(many, 20 + SERVERS),
    },
    MEMORY_ROUNDS,
  );
  const [floor] = Object.values(samples);
  return Object.entries(samples).map(([name, values]) => ({
    case: name,
    value: spread(values),
    unit: 'MB',
    ratio: values === floor ? undefined : ratios(values, floor),
  }));
}

async function memoryOf({ dir, env }, expected) {
  const server = startServer([process.execPath, BINARY, 'serve'], { cwd: dir, env });
  await server.open();
  const line = await server.ask('tools/list', {});
  const { tools } = JSON.parse(Buffer.concat(line).toString('utf8')).result;
  // The built-in query_result and read_result are listed too.
  if (tools.length !== expected + 2) throw new Error(`${tools.length} tools instead of ${expected + 2}`);
  await sleep(SETTLED_MS);
  // `ps` fails if there is no child process.
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(server.pid)], { encoding: 'utf8' });
  if (stdout.trim() !== '') throw new Error('a server was started');
  const kilobytes = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.pid)], { encoding: 'utf8' }));
  await server.stop();
  return (kilobytes * 1024) / 1e6;
}
