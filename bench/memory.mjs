// Resident memory and open files of a server over many calls, by stdio and HTTP: `npm run bench -- memory`. A server of
// functions, and `wield serve` with a script.

import { readdirSync, readFileSync } from 'node:fs';
import { createSessionClient, startHttpServer } from './support/http-client.mjs';
import { sized } from './support/measure.mjs';
import { serverCommand } from './support/servers.mjs';
import { startServer } from './support/stdio-client.mjs';
import { BINARY, createWorkspace, toolName } from './support/workspace.mjs';

const CALLS = sized(100_000, 100);
const STEP = CALLS / 10;
const IN_FLIGHT = 32;
const CLIENTS = 8;
const TOOL = 'tool-0009';
const INPUT = { name: 'Ada', count: 3 };
const SCRIPT_INPUT = { name: 'Ada' };

function look(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
  return { megabytes, files: readdirSync(`/proc/${pid}/fd`).length };
}

async function overStdio() {
  const server = startServer(serverCommand('wield-stdio.mjs', [10]));
  await server.open();
  const call = () => server.askMany('tools/call', { name: TOOL, arguments: INPUT }, STEP, IN_FLIGHT);
  return { pid: server.pid, call, stop: server.stop };
}

async function overHttp() {
  const server = await startHttpServer(serverCommand('wield-http.mjs', [10]));
  const client = await createSessionClient(server.port);
  const call = async () => {
    for (let at = 0; at < STEP; at++) await client(TOOL, INPUT);
  };
  return { pid: server.pid, call, stop: server.stop };
}

async function scriptOverStdio() {
  const { dir, env } = createWorkspace(1);
  const server = startServer([process.execPath, BINARY, 'serve', '--trust'], { cwd: dir, env });
  await server.open();
  const call = () => server.askMany('tools/call', { name: toolName(0), arguments: SCRIPT_INPUT }, STEP, IN_FLIGHT);
  return { pid: server.pid, call, stop: server.stop };
}

async function scriptOverHttp() {
  const { dir, env } = createWorkspace(1);
  const argv = [process.execPath, BINARY, 'serve', '--trust', '--http', '0'];
  const server = await startHttpServer(argv, { cwd: dir, env });
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => createSessionClient(server.port)));
  const call = () =>
    Promise.all(
      clients.map(async (client) => {
        for (let at = 0; at < STEP / CLIENTS; at++) await client(toolName(0), SCRIPT_INPUT);
      }),
    );
  return { pid: server.pid, call, stop: server.stop };
}

const SERVERS = {
  stdio: overStdio,
  HTTP: overHttp,
  'stdio, a script': scriptOverStdio,
  'HTTP, a script': scriptOverHttp,
};
for (const [name, open] of Object.entries(SERVERS)) {
  const { pid, call, stop } = await open();
  const seen = [];
  for (let calls = 0; calls < CALLS; calls += STEP) {
    await call();
    seen.push(look(pid));
  }
  await stop();
  const [first, last] = [seen[0], seen.at(-1)];
  const most = Math.max(...seen.map(({ megabytes }) => megabytes));
  console.log(
    `${name}: ${first.megabytes.toFixed(1)} MB after ${STEP} calls, ${last.megabytes.toFixed(1)} MB after ${CALLS} ` +
      `(at most ${most.toFixed(1)} MB, ${(((last.megabytes - first.megabytes) / first.megabytes) * 100).toFixed(1)} %); ` +
      `${first.files} open files, then ${last.files}`,
  );
}
