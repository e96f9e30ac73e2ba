// Row 4: how long a server takes over stdio from its start to the answer to `tools/list`, by the clock on the wall.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ENVIRONMENT, measureRounds, ratios, spread } from '../support/measure.mjs';
import { fastmcpCommand, serverCommand } from '../support/servers.mjs';
import { parseAnswer, startServer } from '../support/stdio-client.mjs';
import { BINARY, createWorkspace, settle } from '../support/workspace.mjs';

const EMPTY = fileURLToPath(new URL('../support/empty.cjs', import.meta.url));
const TARGET = { of: 'ratio', atMost: 1.6 };
const COUNTS = [20, 200];
const ROUNDS = 15;

export const row = {
  id: '4',
  title: 'stdio, from the start to tools/list answered, against node empty.cjs (wall time)',
  async run() {
    const cases = new Map([
      ['node empty.cjs, to its end (floor)', { measure: timeEmpty }],
      ['raw JSON echo', { measure: () => timeToList(serverCommand('echo-stdio.cjs')) }],
    ]);
    const add = (name, count, argv, options, target) => {
      const measure = () => timeToList(argv, options, count);
      cases.set(`${name}, ${count} tools`, { measure, ...(target ? { target } : {}) });
    };
    for (const count of COUNTS) {
      const { dir, env } = createWorkspace(count);
      add('wield serve', count, [process.execPath, BINARY, 'serve'], { cwd: dir, env }, TARGET);
      add('SDK v1', count, serverCommand('sdk-v1-stdio.mjs', [count]));
      add('SDK v2', count, serverCommand('sdk-v2-stdio.mjs', [count]));
      const fastmcp = fastmcpCommand(count);
      if (fastmcp) add('FastMCP', count, fastmcp);
    }
    await settle();
    const samples = await measureRounds(
      Object.fromEntries([...cases].map(([name, { measure }]) => [name, measure])),
      ROUNDS,
    );
    const [floor] = Object.values(samples);
    return [...cases].map(([name, { target }]) => ({
      case: name,
      value: spread(samples[name]),
      unit: 'ms',
      ...(samples[name] === floor ? {} : { ratio: ratios(samples[name], floor) }),
      ...(target ? { target } : {}),
    }));
  },
};

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
    spawn(process.execPath, [EMPTY], { env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'ignore'] }).once(
      'exit',
      () => resolve(performance.now() - began),
    );
  });
}
