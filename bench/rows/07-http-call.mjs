// Row 7: what a call over HTTP costs in both eras, however many tools there are, against a bare node:http echo.

import { createModernClient, createSessionClient, startHttpServer } from '../support/http-client.mjs';
import { measureRounds, ratios, spread } from '../support/measure.mjs';
import { serverCommand } from '../support/servers.mjs';

const TARGET = { of: 'ratio', atMost: 1.25 };
// Flat in the number of tools: ten thousand cost what ten cost, within what the clock can tell.
const FLAT = { of: 'ratio', atMost: 1.05 };
const COUNTS = [10, 1000, 10_000];
const ROUNDS = 25;
const CALLS = 60;
const WARM_UP = 1500;
const INPUT = { name: 'Ada', count: 3 };

export const row = {
  id: '7',
  title: 'HTTP tools/call of a tool in process, one at a time, against a node:http echo',
  async run() {
    const echo = await startHttpServer(serverCommand('echo-http.cjs'));
    const servers = [echo];
    const calls = { 'node:http echo (floor)': createModernClient(echo.port) };
    for (const count of COUNTS) {
      const server = await startHttpServer(serverCommand('wield-http.mjs', [count]));
      servers.push(server);
      calls[newer(count)] = createModernClient(server.port);
      calls[older(count)] = await createSessionClient(server.port);
    }
    for (const [name, call] of Object.entries(calls)) {
      const { text } = await call('tool-0009', INPUT);
      if (!text.includes('"Ada 3"')) throw new Error(`${name} did not run the tool: ${text}`);
      for (let at = 0; at < WARM_UP; at++) await call('tool-0009', INPUT);
    }
    const samples = await measureRounds(
      Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, () => timeCalls(call)])),
      ROUNDS,
    );
    for (const server of servers) await server.stop();
    const [floor] = Object.values(samples);
    const toCase = (name, values, against, target) => ({
      case: name,
      value: spread(values),
      unit: 'µs',
      ...(against ? { ratio: ratios(values, against), target } : {}),
    });
    return [
      ...Object.entries(samples).map(([name, values]) =>
        toCase(name, values, values === floor ? undefined : floor, TARGET),
      ),
      ...[newer, older].map((era) =>
        toCase(`${era(10_000)} against 10`, samples[era(10_000)], samples[era(10)], FLAT),
      ),
    ];
  },
};

function newer(count) {
  return `newer era, ${count.toLocaleString('en')} tools`;
}

function older(count) {
  return `older era with a session, ${count.toLocaleString('en')} tools`;
}

async function timeCalls(call) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await call('tool-0009', INPUT);
  return ((performance.now() - began) * 1000) / CALLS;
}
