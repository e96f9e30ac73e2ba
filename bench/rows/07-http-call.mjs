// Row 7: cost of a call over HTTP in both protocol versions, by number of tools, compared with a node:http echo.

import { createModernClient, createSessionClient, startHttpServer } from '../support/http-client.mjs';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { peersOver, serverCommand } from '../support/servers.mjs';

const TARGET = { of: 'ratio', atMost: 1.25 };
// The cost must not depend on the number of tools.
const FLAT = { of: 'ratio', atMost: 1.05 };
const COUNTS = sized([10, 1000, 10_000], [10, 20]);
const MOST = COUNTS.at(-1);
// Peers register every tool for each session or request; 10,000 would take seconds per call.
const PEERS_UP_TO = 1000;
const ROUNDS = 25;
const CALLS = sized(60, 5);
const WARM_UP = sized(1500, 5);
const WARM_UP_MS = 3000;
const INPUT = { name: 'Ada', count: 3 };

export const row = {
  id: '7',
  title: 'HTTP tools/call of a tool in process, one at a time, against a node:http echo',
  async run() {
    const servers = [];
    const calls = {};
    const start = async (argv) => {
      const server = await startHttpServer(argv);
      servers.push(server);
      return server.port;
    };
    const add = async (name, count, argv, isNewer = true) => {
      const port = await start(argv);
      if (isNewer) calls[newer(name, count)] = createModernClient(port);
      calls[older(name, count)] = await createSessionClient(port);
    };
    calls['node:http echo (floor)'] = createModernClient(await start(serverCommand('echo-http.cjs')));
    for (const count of COUNTS) await add('wield', count, serverCommand('wield-http.mjs', [count]));
    for (const count of COUNTS.filter((one) => one <= PEERS_UP_TO))
      for (const peer of peersOver('http')) await add(peer.name, count, peer.command(count), peer.newer);
    for (const [name, call] of Object.entries(calls)) await warmUp(name, call);
    const samples = await measureRounds(
      Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, () => timeCalls(call)])),
      ROUNDS,
    );
    for (const server of servers) await server.stop();
    return toCases(samples);
  },
};

function toCases(samples) {
  const [floor] = Object.values(samples);
  const toCase = (name, values, against, target) => ({
    case: name,
    value: spread(values),
    unit: 'µs',
    ratio: against && ratios(values, against),
    target,
  });
  return [
    ...Object.entries(samples).map(([name, values]) =>
      toCase(name, values, values === floor ? undefined : floor, name.startsWith('wield') ? TARGET : undefined),
    ),
    ...[newer, older].map((nameOf) =>
      toCase(`${nameOf('wield', MOST)} against 10`, samples[nameOf('wield', MOST)], samples[nameOf('wield', 10)], FLAT),
    ),
  ];
}

async function warmUp(name, call) {
  const { text } = await call('tool-0009', INPUT);
  if (!/Ada 3\b/.test(text)) throw new Error(`${name} did not run the tool: ${text}`);
  const until = performance.now() + WARM_UP_MS;
  for (let at = 0; at < WARM_UP && performance.now() < until; at++) await call('tool-0009', INPUT);
}

function newer(name, count) {
  return `${name}, newer version, ${count.toLocaleString('en')} tools`;
}

function older(name, count) {
  return `${name}, older version with a session, ${count.toLocaleString('en')} tools`;
}

async function timeCalls(call) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await call('tool-0009', INPUT);
  return ((performance.now() - began) * 1000) / CALLS;
}
