// Cost of traces and metrics: CPU of a stdio server with 32 calls in flight, with and without a receiver.

import { createServer } from 'node:http';
import { ENVIRONMENT, measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { serverCommand } from '../support/servers.mjs';
import { startServer } from '../support/stdio-client.mjs';

const TOOLS = 20;
const ROUNDS = 25;
const AT_ONCE = 32;
const CALLS = sized(3200, 64);
const WARM_UP = sized(8000, 32);
const CALL = { name: 'tool-0000', arguments: { name: 'Ada', count: 3 } };

export const row = {
  id: 'telemetry',
  title: `traces and metrics of stdio tools/call, CPU of the server with ${AT_ONCE} in flight`,
  async run() {
    const receiver = createServer((request, response) => {
      request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
    });
    await new Promise((resolve) => {
      receiver.listen(0, '127.0.0.1', resolve);
    });
    const endpoint = `http://127.0.0.1:${receiver.address().port}`;
    const environments = {
      off: ENVIRONMENT,
      'every call traced': { ...ENVIRONMENT, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint },
      'one call in 100 traced': {
        ...ENVIRONMENT,
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.01',
      },
    };
    const servers = Object.entries(environments).map(([name, env]) => {
      const argv = serverCommand('wield-stdio.mjs', [TOOLS], { probed: true });
      return { name, server: startServer(argv, { env, probed: true }) };
    });
    for (const { server } of servers) {
      await server.open();
      await server.askMany('tools/call', CALL, WARM_UP, AT_ONCE);
    }
    const cases = servers.map(({ name, server }) => [name, () => cpuOf(server)]);
    const samples = await measureRounds(Object.fromEntries(cases), ROUNDS);
    for (const { server } of servers) await server.stop();
    receiver.closeAllConnections();
    receiver.close();
    return Object.entries(samples).map(([name, values]) => ({
      case: name,
      value: spread(values),
      unit: 'µs',
      ratio: values === samples.off ? undefined : ratios(values, samples.off),
      target: name === 'off' ? undefined : { of: 'ratio', atMost: 1.05 },
    }));
  },
};

async function cpuOf(server) {
  const before = await server.cpu();
  await server.askMany('tools/call', CALL, CALLS, AT_ONCE);
  return ((await server.cpu()) - before) / CALLS;
}
