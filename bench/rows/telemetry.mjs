// Cost of traces and metrics: CPU of stdio servers with 32 calls in flight, as in row 6; some send them to a receiver.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createToolbox } from '../../dist/index.js';
import { serveMcpStdio } from '../../dist/mcp-server/index.js';
import { DESCRIPTION, execute, inputSchema, toolNames } from '../servers/tool.mjs';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { serverCommand } from '../support/servers.mjs';

const TOOLS = 20;
const ROUNDS = 40;
// Long enough that most are made after the first spans were sent.
const CALLS = sized(20_000, 64);
const WARM_UP = sized(20_000, 32);
const TARGET = { of: 'ratio', atMost: 1.05 };

export const row = {
  id: 'telemetry',
  title: 'traces and metrics of stdio tools/call, CPU of a server with 32 in flight',
  async run() {
    const [program, ...args] = serverCommand('otlp-receiver.cjs');
    const receiver = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = await once(receiver.stdout, 'data');
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${String(port).trim()}` };
    const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
    // All in one process: two processes differ by more than what is measured here.
    const servers = {
      off: await createServer({}),
      'off, again (noise)': await createServer({}),
      'every call traced': await createServer(endpoint),
      'one call in 100 traced': await createServer({ ...endpoint, ...sampler }),
    };
    for (const server of Object.values(servers)) await server.ask(WARM_UP);
    const cases = Object.entries(servers).map(([name, server]) => [name, () => cpuOf(server)]);
    const samples = await measureRounds(Object.fromEntries(cases), ROUNDS);
    for (const server of Object.values(servers)) await server.close();
    receiver.kill();
    return Object.entries(samples).map(([name, values]) => ({
      case: name,
      value: spread(values),
      unit: 'µs',
      ratio: values === samples.off ? undefined : ratios(values, samples.off),
      target: name.includes('traced') ? TARGET : undefined,
    }));
  },
};

/** Starts a server with variables, which a toolbox reads when it is created. */
async function createServer(variables) {
  Object.assign(process.env, variables);
  const tools = toolNames(TOOLS).map((name) => ({ name, description: DESCRIPTION, inputSchema, execute }));
  const toolbox = createToolbox({ tools, telemetry: true });
  for (const name of Object.keys(variables)) delete process.env[name];
  const [program, ...args] = serverCommand('caller.cjs');
  const client = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] });
  const write = (bytes) => new Promise((resolve) => client.stdin.write(bytes, resolve));
  serveMcpStdio(toolbox, { version: '0', input: client.stdout, write });
  await once(client, 'message');
  return {
    /** Makes this many calls, and resolves when all are answered. */
    async ask(calls) {
      client.send(calls);
      await once(client, 'message');
    },
    async close() {
      client.disconnect();
      await toolbox.close();
    },
  };
}

async function cpuOf(server) {
  const before = process.cpuUsage();
  await server.ask(CALLS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}
