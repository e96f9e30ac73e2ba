// Row 6: cost of calling an in-process tool over stdio, one call at a time and 32 in flight.

import { measureRounds, peerTarget, ratios, sized, spread } from '../support/measure.mjs';
import { peersOver, serverCommand } from '../support/servers.mjs';
import { parseAnswer, startServer } from '../support/stdio-client.mjs';

const TOOLS = 20;
const ALLOWED = { tmcp: 1.3 };
const ROUNDS = 25;
const CALLS = sized(400, 10);
const AT_ONCE = 32;
const MANY_CALLS = sized(3200, 64);
const WARM_UP = sized(8000, 32);
const CALL = { name: 'tool-0000', arguments: { name: 'Ada', count: 3 } };

export const row = {
  id: '6',
  title: 'stdio tools/call of a tool in process, against a raw JSON echo',
  async run() {
    const servers = [];
    const commands = [
      { name: 'raw JSON echo (floor)', probed: true, argv: serverCommand('echo-stdio.cjs', [], { probed: true }) },
      { name: 'wield', probed: true, argv: serverCommand('wield-stdio.mjs', [TOOLS], { probed: true }) },
      ...peersOver('stdio', { probed: true }).map((peer) => ({ ...peer, argv: peer.command(TOOLS) })),
    ];
    for (const { name, probed, argv } of commands) {
      const server = startServer(argv, { probed });
      servers.push({ name, probed, server });
      await server.open();
      const answer = parseAnswer(await server.ask('tools/call', CALL));
      if (answer.result?.content?.[0]?.text !== 'Ada 3')
        throw new Error(`${name} did not run the tool: ${JSON.stringify(answer)}`);
      await server.askMany('tools/call', CALL, probed ? WARM_UP : WARM_UP / 8, AT_ONCE);
    }
    const one = await measureEach(servers, timeOneAtATime);
    const many = await measureEach(servers, timeManyAtOnce);
    const cpu = await measureEach(
      servers.filter(({ probed }) => probed),
      cpuManyAtOnce,
    );
    for (const { server } of servers) await server.stop();
    return [
      ...toCases('one at a time', one),
      ...toCases(`${AT_ONCE} in flight`, many),
      ...toCases(`CPU of the server, ${AT_ONCE} in flight`, cpu),
    ];
  },
};

function measureEach(servers, measure) {
  return measureRounds(Object.fromEntries(servers.map(({ name, server }) => [name, () => measure(server)])), ROUNDS);
}

function toCases(mode, samples) {
  const [floor] = Object.values(samples);
  const [, , ...peers] = Object.entries(samples);
  return Object.entries(samples).map(([name, values]) => ({
    case: `${name}, ${mode}`,
    value: spread(values),
    unit: 'µs',
    ratio: values === floor ? undefined : ratios(values, floor),
    target: name === 'wield' ? peerTarget(Object.fromEntries(peers), floor, ALLOWED) : undefined,
  }));
}

async function timeOneAtATime(server) {
  const began = performance.now();
  await server.askMany('tools/call', CALL, CALLS, 1);
  return ((performance.now() - began) * 1000) / CALLS;
}

async function timeManyAtOnce(server) {
  const began = performance.now();
  await server.askMany('tools/call', CALL, MANY_CALLS, AT_ONCE);
  return ((performance.now() - began) * 1000) / MANY_CALLS;
}

async function cpuManyAtOnce(server) {
  const before = await server.cpu();
  await server.askMany('tools/call', CALL, MANY_CALLS, AT_ONCE);
  return ((await server.cpu()) - before) / MANY_CALLS;
}
