// Row 7: cost of a call over HTTP in both protocol versions, by number of tools, compared with a node:http echo.

import { createModernClient, createSessionClient, startHttpServer } from '../support/http-client.mjs';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { serverCommand } from '../support/servers.mjs';

const TARGET = { of: 'ratio', atMost: 1.25 };
// The cost must not depend on the number of tools.
const FLAT = { of: 'ratio', atMost: 1.05 };
const COUNTS = sized([10, 1000, 10_000], [10, 20]);
const MOST = COUNTS.at(-1);
const ROUNDS = 25;
const CALLS = sized(60, 5);
const WARM_UP = sized(1500, 5);
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
      ratio: against && ratios(values, against),
      target: against && target,
    });
    return [
      ...Object.entries(samples).map(([name, values]) =>
        toCase(name, values, values === floor ? undefined : floor, TARGET),
      ),
      ...[newer, older].map((nameOf) =>
        toCase(`${nameOf(MOST)} against 10`, samples[nameOf(MOST)], samples[nameOf(10)], FLAT),
      ),
    ];
  },
};

function newer(count) {
  return `newer version, ${count.toLocaleString('en')} tools`;
}

function older(count) {
  return `older version with a session, ${count.toLocaleString('en')} tools`;
}

async function timeCalls(call) {
  const began = performance.now();
  for (let at = 0; at < CALLS; at++) await call('tool-0009', INPUT);
  return ((performance.now() - began) * 1000) / CALLS;
}
