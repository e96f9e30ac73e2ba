// Row 17: resident memory of `wield serve` with 200 tools after `tools/list`, compared with an idle Node.

import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { peersOver, serverCommand } from '../support/servers.mjs';
import { startServer } from '../support/stdio-client.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const TARGET = { of: 'ratio', atMost: 1.6 };
const COUNT = sized(200, 10);
const ROUNDS = 7;
// Lets the start-up finish; garbage of the start is included.
const SETTLED_MS = sized(300, 0);

export const row = {
  id: '17',
  title: 'resident memory with 200 tools after tools/list, against a Node that waits',
  async run() {
    const { dir, env } = createWorkspace(COUNT);
    await settle();
    const cases = {
      'node wait.cjs (floor)': () => measureWaiting(serverCommand('wait.cjs')),
      'wield serve': () => measureServing([process.execPath, BINARY, 'serve'], { cwd: dir, env }),
    };
    for (const { name, command } of peersOver('stdio')) cases[name] = () => measureServing(command(COUNT));
    const samples = await measureRounds(cases, ROUNDS);
    const [floor] = Object.values(samples);
    return Object.entries(samples).map(([name, values]) => ({
      case: name,
      value: spread(values),
      unit: 'MB',
      ratio: values === floor ? undefined : ratios(values, floor),
      target: name === 'wield serve' ? TARGET : undefined,
    }));
  },
};

async function measureServing(argv, options) {
  const server = startServer(argv, options);
  await server.open();
  await server.ask('tools/list', {});
  // Kept answers are sent before the runtime is loaded, which answers this one.
  await server.ask('ping', {});
  return measureAndStop(server);
}

function measureWaiting(argv) {
  return measureAndStop(startServer(argv));
}

async function measureAndStop(server) {
  await sleep(SETTLED_MS);
  const kilobytes = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.pid)], { encoding: 'utf8' }));
  await server.stop();
  return (kilobytes * 1024) / 1e6;
}
