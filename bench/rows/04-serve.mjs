// Row 4: wall time of a stdio server from its start to the answer to `tools/list`.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ENVIRONMENT, measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { peersOver, serverCommand } from '../support/servers.mjs';
import { parseAnswer, startServer } from '../support/stdio-client.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const EMPTY = fileURLToPath(new URL('../support/empty.cjs', import.meta.url));
const TARGET = { of: 'ratio', atMost: 2.6 };
const COUNTS = sized([20, 200], [3]);
// `wield serve` also lists query_result and read_result, which read stored results.
const BUILT_IN = 2;
const ROUNDS = 15;

export const row = {
  id: '4',
  title: 'stdio, from the start to tools/list answered, against node empty.cjs (wall time)',
  async run() {
    const warm = [];
    const cases = new Map([
      ['node empty.cjs, to its end (floor)', { measure: timeEmpty }],
      ['raw JSON echo', { measure: () => timeToList(serverCommand('echo-stdio.cjs')) }],
    ]);
    const add = (name, count, argv, { target, extra = 0, ...options } = {}) => {
      const measure = () => timeToList(argv, options, count + extra);
      cases.set(`${name}, ${count} tools`, { measure, target });
    };
    for (const count of COUNTS) {
      const { dir, env } = createWorkspace(count);
      const options = { cwd: dir, env, target: TARGET, extra: BUILT_IN };
      warm.push({ cwd: dir, env });
      add('wield serve', count, [process.execPath, BINARY, 'serve'], options);
      for (const { name, command } of peersOver('stdio')) add(name, count, command(count));
    }
    // The first start saves compiled code, and one that finds the tools settled the index.
    for (let run = 0; run < 2; run++) {
      await settle();
      for (const options of warm) await startAndEnd([process.execPath, BINARY, 'serve'], options);
    }
    const samples = await measureRounds(
      Object.fromEntries([...cases].map(([name, { measure }]) => [name, measure])),
      ROUNDS,
    );
    const [floor] = Object.values(samples);
    return [...cases].map(([name, { target }]) => ({
      case: name,
      value: spread(samples[name]),
      unit: 'ms',
      ratio: samples[name] === floor ? undefined : ratios(samples[name], floor),
      target,
    }));
  },
};

async function startAndEnd(argv, options) {
  const server = startServer(argv, options);
  await server.open();
  await server.ask('tools/list', {});
  await server.end();
}

async function timeToList(argv, options, count) {
  const began = performance.now();
  const server = startServer(argv, options);
  await server.open();
  const line = await server.ask('tools/list', {});
  const took = performance.now() - began;
  await server.stop();
  if (count !== undefined && parseAnswer(line).result?.tools?.length !== count)
    throw new Error(`${argv.join(' ')} did not list ${count} tools: ${Buffer.concat(line).subarray(0, 200)}`);
  return took;
}

function timeEmpty() {
  const began = performance.now();
  return new Promise((resolve) => {
    spawn(process.execPath, [EMPTY], { env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'ignore'] }).once('exit', () =>
      resolve(performance.now() - began),
    );
  });
}
