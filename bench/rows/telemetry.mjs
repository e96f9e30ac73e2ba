// Cost of traces and metrics: CPU of stdio servers with 32 calls in flight, some of which send them to a receiver.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { createToolbox } from '../../dist/index.js';
import { serveMcpStdio } from '../../dist/mcp-server/index.js';
import { DESCRIPTION, execute, inputSchema, toolNames } from '../servers/tool.mjs';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { serverCommand } from '../support/servers.mjs';

const TOOLS = 20;
const ROUNDS = 30;
const AT_ONCE = 32;
// Long enough that most are made after the first spans were sent.
const CALLS = sized(30_000, 64);
const WARM_UP = sized(20_000, 32);
const TARGET = { of: 'ratio', atMost: 1.05 };

export const row = {
  id: 'telemetry',
  title: `traces and metrics of stdio tools/call, CPU of a server with ${AT_ONCE} in flight`,
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
  const input = new PassThrough();
  let onAnswers;
  const opened = new Promise((resolve) => {
    onAnswers = resolve;
  });
  serveMcpStdio(toolbox, { version: '0', input, write: async (bytes) => onAnswers(countLines(bytes)) });
  const send = (id, method, params) => input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  const clientInfo = { name: 'bench', version: '1' };
  send('first', 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  await opened;
  return {
    /** Makes this many calls, and resolves when all are answered. */
    ask: (calls) =>
      new Promise((resolve) => {
        let sent = 0;
        let answered = 0;
        const sendNext = () => send(++sent, 'tools/call', { name: 'tool-0000', arguments: { name: 'Ada', count: 3 } });
        onAnswers = (count) => {
          answered += count;
          for (let at = 0; at < count && sent < calls; at++) sendNext();
          if (answered === calls) resolve();
        };
        while (sent < Math.min(AT_ONCE, calls)) sendNext();
      }),
    close: () => toolbox.close(),
  };
}

function countLines(bytes) {
  let count = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++;
  return count;
}

async function cpuOf(server) {
  const before = process.cpuUsage();
  await server.ask(CALLS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}
