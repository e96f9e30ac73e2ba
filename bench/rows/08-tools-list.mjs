// Row 8: cost of `tools/list` over stdio, all pages, compared with writing the same bytes from a cache.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { peersOver, serverCommand } from '../support/servers.mjs';
import { parseAnswer, startServer } from '../support/stdio-client.mjs';
import { createDirectory } from '../support/workspace.mjs';

const TARGET = { of: 'ratio', atMost: 3 };
const COUNTS = sized([10, 1000, 10_000], [10, 1001]);
// Most peers convert every schema at each listing; 10,000 would take seconds per round.
const PEERS_UP_TO = 1000;
const ROUNDS = 20;
const WARM_UP = sized(20, 1);

export const row = {
  id: '8',
  title: 'stdio tools/list, all pages, against the same bytes from a cache',
  async run() {
    const results = [];
    for (const count of COUNTS) results.push(...(await measureCount(count)));
    return results;
  },
};

async function measureCount(count) {
  const servers = new Map();
  const start = async (name, argv) => {
    const server = startServer(argv);
    await server.open();
    servers.set(name, server);
    return server;
  };
  const wield = await start('wield', serverCommand('wield-stdio.mjs', [count]));
  const { cursors, pages } = await readPages(wield, count);
  const file = join(createDirectory(), 'pages');
  writeFileSync(file, pages.join('\n'));
  await start('cached bytes', serverCommand('echo-stdio.cjs', [file]));
  if (count <= PEERS_UP_TO) {
    for (const { name, command } of peersOver('stdio')) await readPages(await start(name, command(count)), count);
  }
  // Peers answer with a single page.
  const cursorsOf = (name) => (name === 'wield' || name === 'cached bytes' ? cursors : [undefined]);
  const list = async (name, server) => {
    for (const cursor of cursorsOf(name)) await server.ask('tools/list', cursor === undefined ? {} : { cursor });
  };
  for (const [name, server] of servers) for (let at = 0; at < WARM_UP; at++) await list(name, server);
  const samples = await measureRounds(
    Object.fromEntries([...servers].map(([name, server]) => [name, () => time(() => list(name, server))])),
    ROUNDS,
  );
  for (const server of servers.values()) await server.stop();
  const floor = samples['cached bytes'];
  const tools = `${count.toLocaleString('en')} tools`;
  const toCase = (name) => ({
    case: `${name}, ${tools}`,
    value: spread(samples[name]),
    unit: 'ms',
    ratio: ratios(samples[name], floor),
    target: name === 'wield' ? TARGET : undefined,
  });
  return [
    { case: `cached bytes, ${tools} (floor)`, value: spread(floor), unit: 'ms' },
    ...Object.keys(samples)
      .filter((name) => samples[name] !== floor)
      .map(toCase),
  ];
}

async function readPages(server, count) {
  const cursors = [undefined];
  const pages = [];
  let tools = 0;
  for (let cursor; ; cursors.push(cursor)) {
    const { result } = parseAnswer(await server.ask('tools/list', cursor === undefined ? {} : { cursor }));
    pages.push(JSON.stringify(result));
    tools += result.tools.length;
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  if (tools !== count) throw new Error(`${tools} of ${count} tools are listed`);
  return { cursors, pages };
}

async function time(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
