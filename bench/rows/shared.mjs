// Row shared: `wield call` of a tool of a server that runs already, compared with mcporter's daemon and a client that
// starts the server; processes and memory of many sessions with many servers.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { measureRounds, ratios, sized, spread, timeCommand } from '../support/measure.mjs';
import { findMcporter, serverCommand } from '../support/servers.mjs';
import { startServer } from '../support/stdio-client.mjs';
import { BINARY, createDirectory, createWorkspace, settle } from '../support/workspace.mjs';

const ROUNDS = 15;
const MEMORY_ROUNDS = 3;
const SESSIONS = sized(20, 2);
const SERVERS = sized(10, 2);
// Right after the calls, and when V8 has returned what they left behind, as it does while a process has nothing to do.
const MOMENTS = { '': sized(500, 0), ', half a minute later': sized(30_000, 0) };
const AGAINST_MCPORTER = { of: 'ratio', atMost: 1.3 };
const PER_SESSION = { of: 'ratio', atMost: 1.1 };
const [COMMAND, ...ARGS] = serverCommand('upstream-stdio.cjs');

export const row = {
  id: 'shared',
  title: 'wield call of a server that runs already; processes and memory of many sessions',
  async run() {
    return [...(await measureCalls()), ...(await measureSessions())];
  },
};

async function measureCalls() {
  const workspace = createWorkspace(0);
  const { dir, env } = workspace;
  configure(workspace, 1);
  const mcporter = findMcporter();
  const file = join(createDirectory(), 'mcporter.json');
  const daemon = { command: COMMAND, args: ARGS, lifecycle: 'keep-alive' };
  writeFileSync(file, JSON.stringify({ mcpServers: { upstream: daemon } }));
  const toMcporter = (...words) => [...mcporter, '--config', file, ...words];
  const argvs = {
    'a client that starts the server': serverCommand('direct-client.cjs', [COMMAND, ...ARGS]),
    ...(mcporter && { "mcporter's daemon": toMcporter('call', 'upstream.echo', 'name=Ada', 'count=3') }),
    'wield call': [process.execPath, BINARY, 'call', 'upstream-0_echo', '--name', 'Ada', '--count', '3'],
  };
  const run = ([command, ...args]) => spawnSync(command, args, { cwd: dir, env, encoding: 'utf8' });
  try {
    for (const [name, argv] of Object.entries(argvs)) {
      const { stdout, stderr } = run(argv);
      if (stdout !== 'Ada 3\n') throw new Error(`${name} did not reach the tool: ${stdout}${stderr}`);
    }
    await settle();
    const wall = await measureRounds(
      mapValues(argvs, (argv) => () => timeWall(() => run(argv))),
      ROUNDS,
    );
    const cpu = await measureRounds(
      mapValues(argvs, (argv) => () => timeCommand(argv, { cwd: dir, env })),
      ROUNDS,
    );
    return [...toCases(wall, 'wall'), ...toCases(cpu, 'CPU')];
  } finally {
    stopBroker(workspace);
    if (mcporter !== undefined) run(toMcporter('daemon', 'stop'));
  }
}

function toCases(samples, clock) {
  const { "mcporter's daemon": peer = Object.values(samples)[0] } = samples;
  return Object.entries(samples).map(([name, values]) => ({
    case: `${name}, ${clock}${values === peer ? ' (floor)' : ''}`,
    value: spread(values),
    unit: 'ms',
    ratio: values === peer ? undefined : ratios(values, peer),
    target: name === 'wield call' ? AGAINST_MCPORTER : undefined,
  }));
}

async function measureSessions() {
  const [bare, shared] = [createWorkspace(0), createWorkspace(0)];
  configure(bare, 0);
  configure(shared, SERVERS);
  await settle();
  let processes = 0;
  const countProcesses = () => {
    const { stdout } = spawnSync(process.execPath, [BINARY, 'mcp', '--json'], {
      cwd: shared.dir,
      env: shared.env,
      encoding: 'utf8',
    });
    processes = JSON.parse(stdout).shared.length;
  };
  const cases = [];
  try {
    for (const [when, settledMs] of Object.entries(MOMENTS)) {
      const samples = await measureRounds(
        {
          bare: () => memoryPerSession(bare, { servers: 0, settledMs }),
          shared: () => memoryPerSession(shared, { servers: SERVERS, settledMs, whileOpen: countProcesses }),
        },
        MEMORY_ROUNDS,
      );
      cases.push(
        { case: `a session without servers${when} (floor)`, value: spread(samples.bare), unit: 'MB' },
        {
          case: `a further session of ${SERVERS} servers, a call of each${when}`,
          value: spread(samples.shared),
          unit: 'MB',
          ratio: ratios(samples.shared, samples.bare),
          target: PER_SESSION,
        },
      );
    }
  } finally {
    stopBroker(shared);
  }
  const goal = { text: String(SERVERS), met: processes === SERVERS };
  const counted = `processes of ${SERVERS} servers in ${SESSIONS} sessions`;
  return [...cases, { case: counted, value: spread([processes]), shown: String(processes), goal }];
}

// The mean of all sessions but the first one, which starts the broker, with the processes that they started.
async function memoryPerSession({ dir, env }, { servers, settledMs, whileOpen = () => {} }) {
  const sessions = Array.from({ length: SESSIONS }, () =>
    startServer([process.execPath, BINARY, 'serve'], { cwd: dir, env }),
  );
  try {
    for (const session of sessions) {
      await session.open();
      await session.ask('tools/list', {});
      for (let at = 0; at < servers; at++) await callEcho(session, at);
    }
    await sleep(settledMs);
    whileOpen();
    const further = sessions.slice(1).map(({ pid }) => pid);
    const pids = further.join(',');
    const printed = execFileSync('ps', ['-o', 'rss=', '-p', pids, '--ppid', pids], { encoding: 'utf8' });
    const kilobytes = printed.trim().split(/\s+/).map(Number);
    return (kilobytes.reduce((sum, one) => sum + one, 0) * 1024) / 1e6 / further.length;
  } finally {
    for (const { stop } of sessions) await stop();
  }
}

async function callEcho(session, at) {
  const line = await session.ask('tools/call', { name: `upstream-${at}_echo`, arguments: { name: 'Ada', count: 3 } });
  const text = Buffer.concat(line).toString('utf8');
  if (!text.includes('Ada 3')) throw new Error(`the tool was not reached: ${text}`);
}

// Sharing is off in containers unless it is configured.
function configure({ home, env }, count) {
  const servers = Array.from({ length: count }, (_, at) => [
    `upstream-${at}`,
    { command: COMMAND, args: [...ARGS, String(at)] },
  ]);
  mkdirSync(join(home, '.agents'), { recursive: true });
  writeFileSync(join(home, '.agents', 'mcp.json'), JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  mkdirSync(env.WIELD_HOME, { recursive: true, mode: 0o700 });
  writeFileSync(join(env.WIELD_HOME, 'config.toml'), '[mcp]\nbroker = true\n', { mode: 0o600 });
}

function stopBroker({ dir, env }) {
  spawnSync(process.execPath, [BINARY, 'mcp', 'stop'], { cwd: dir, env });
}

function timeWall(work) {
  const began = performance.now();
  work();
  return performance.now() - began;
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}
