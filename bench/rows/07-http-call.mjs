// Row 7: cost of a call over HTTP in both protocol versions, by number of tools, compared with a node:http echo.

import { createModernClient, createSessionClient, startHttpServer } from '../support/http-client.mjs';
import { measureRounds, peerTarget, ratios, sized, spread } from '../support/measure.mjs';
import { peersOver, serverCommand } from '../support/servers.mjs';

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
const PROBED = { probed: true };
const INPUT = { name: 'Ada', count: 3 };

export const row = {
  id: '7',
  title: 'HTTP tools/call of a tool in process, one at a time, against a node:http echo',
  async run() {
    const servers = [];
    const calls = {};
    const start = async (argv, probed = true) => {
      const server = await startHttpServer(argv, { probed });
      servers.push(server);
      return server;
    };
    const add = async (name, count, argv, { newer: isNewer = true, probed = true } = {}) => {
      const { port, cpu } = await start(argv, probed);
      if (isNewer) calls[newer(name, count)] = { call: createModernClient(port), cpu };
      calls[older(name, count)] = { call: await createSessionClient(port), cpu };
    };
    const echo = await start(serverCommand('echo-http.cjs', [], PROBED));
    calls['node:http echo (floor)'] = { call: createModernClient(echo.port), cpu: echo.cpu };
    for (const count of COUNTS) await add('wield', count, serverCommand('wield-http.mjs', [count], PROBED));
    for (const count of COUNTS.filter((one) => one <= PEERS_UP_TO))
      for (const peer of peersOver('http', PROBED)) await add(peer.name, count, peer.command(count), peer);
    for (const [name, { call }] of Object.entries(calls)) await warmUp(name, call);
    const measure = (cases, time) =>
      measureRounds(Object.fromEntries(cases.map(([name, one]) => [name, () => time(one)])), ROUNDS);
    const wall = await measure(Object.entries(calls), timeCalls);
    const cpu = await measure(
      Object.entries(calls).filter(([, one]) => one.cpu !== undefined),
      cpuOfCalls,
    );
    for (const server of servers) await server.stop();
    return [...toCases(wall), ...toFlatCases(wall), ...toCases(cpu, 'CPU of the server: ')];
  },
};

function toCases(samples, prefix = '') {
  const [[, floor], ...others] = Object.entries(samples);
  const versionOf = (name) => name.split(', ')[1];
  const targetOf = (name) => {
    const peers = others.filter(([other]) => !other.startsWith('wield') && versionOf(other) === versionOf(name));
    return name.startsWith('wield') ? peerTarget(Object.fromEntries(peers), floor) : undefined;
  };
  return Object.entries(samples).map(([name, values]) => ({
    case: prefix + name,
    value: spread(values),
    unit: 'µs',
    ratio: values === floor ? undefined : ratios(values, floor),
    target: targetOf(name),
  }));
}

function toFlatCases(samples) {
  return [newer, older].map((nameOf) => ({
    case: `${nameOf('wield', MOST)} against 10`,
    value: spread(samples[nameOf('wield', MOST)]),
    unit: 'µs',
    ratio: ratios(samples[nameOf('wield', MOST)], samples[nameOf('wield', 10)]),
    target: FLAT,
  }));
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

async function timeCalls({ call }) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await call('tool-0009', INPUT);
  return ((performance.now() - began) * 1000) / CALLS;
}

async function cpuOfCalls({ call, cpu }) {
  const before = await cpu();
  for (let at = 0; at < CALLS; at++) await call('tool-0009', INPUT);
  return ((await cpu()) - before) / CALLS;
}
