// Runs the official conformance suite against wield as a server and a gateway, three times in a row against one process, and as
// a client, and writes docs/reports/conformance.md. Arguments choose roles; others keep their last result. `--once`: one round.
// Fails if a scenario fails without a reason in test/support/conformance-reasons.json.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE, node, RUNS, runClientScenarios, runServerScenarios, serverDirectory } from './conformance-suite.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const RESULTS = join(CACHE, 'results.json');
// Scenarios that do not pass, by reason.
const REASONS = JSON.parse(readFileSync(join(ROOT, 'test/support/conformance-reasons.json'), 'utf8'));
const [SUITE_PORT, WIELD_PORT, FIXTURES_PORT] = [4811, 4812, 4813];
const WIELD_URL = `http://localhost:${WIELD_PORT}/mcp`;
const NEWEST = RUNS.at(-1).revision;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const rounds = process.argv.includes('--once') ? 1 : 3;

// A scenario passes if it passes in every round.
async function repeat(role, { version, revision }, run) {
  const all = [run()];
  // The suite starts a server for each scenario for clients, so there is no process to keep.
  for (let round = 1; round < rounds && role !== 'client'; round++) {
    // Questions that the suite leaves unanswered count as open for a minute, and a client may have sixteen of them.
    await sleep(revision === NEWEST ? 60_000 : 0);
    all.push(run());
  }
  const scenarios = all[0].map(({ name }) => ({
    name,
    isPassed: all.every((round) => round.find((scenario) => scenario.name === name)?.isPassed),
  }));
  const failed = scenarios.filter(({ isPassed }) => !isPassed).map(({ name }) => name);
  const counted = `${scenarios.length - failed.length}/${scenarios.length}`;
  console.log(role, version, revision, counted, failed.join(' '));
  return { role, version, revision, scenarios };
}

// Tools that the suite's own server lacks, for the gateway.
const ONLY_OURS = [
  'test_custom_header',
  'greet',
  'slow_compute',
  'failing_job',
  'protocol_error_job',
  'confirm_delete',
  'multi_input',
  'test_tool_with_task',
];

const startFixtures = (port) =>
  spawn(process.execPath, [join(ROOT, 'test/support/conformance-server.mjs'), String(port)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });

async function runServer() {
  const server = startFixtures(WIELD_PORT);
  await sleep(2000);
  const results = [];
  for (const run of RUNS) results.push(await repeat('server', run, () => runServerScenarios(run, WIELD_URL)));
  server.kill();
  return results;
}

async function runGateway() {
  const upstream = spawn(node, ['--import', 'tsx', 'everything-server.ts'], {
    cwd: serverDirectory,
    env: { ...process.env, PORT: String(SUITE_PORT) },
    stdio: 'ignore',
  });
  const fixtures = startFixtures(FIXTURES_PORT);
  await sleep(4000);
  const results = [];
  for (const run of RUNS) {
    const home = mkdtempSync(join(tmpdir(), 'wield-conformance-'));
    const entryOf = (port) => ({ url: `http://localhost:${port}/mcp`, prefix: false, protocol: run.revision });
    const mcpServers = { suite: entryOf(SUITE_PORT), fixtures: { ...entryOf(FIXTURES_PORT), allow: ONLY_OURS } };
    mkdirSync(join(home, '.agents'));
    mkdirSync(join(home, 'work'));
    writeFileSync(join(home, '.agents/mcp.json'), JSON.stringify({ mcpServers }));
    mkdirSync(join(home, '.wield'), { mode: 0o700 });
    const rules = ['sampling:suite($policy=allow)', 'roots:suite($policy=allow)'];
    writeFileSync(join(home, '.wield/config.toml'), `[trust]\nrules = ${JSON.stringify(rules)}\n`, { mode: 0o600 });
    const options = {
      cwd: join(home, 'work'),
      env: { ...process.env, HOME: home, WIELD_HOME: join(home, '.wield') },
      stdio: 'ignore',
    };
    const wield = join(ROOT, 'dist/cli/wield.cjs');
    execFileSync(process.execPath, [wield, 'mcp', 'refresh'], options);
    const server = spawn(process.execPath, [wield, 'serve', '--http', String(WIELD_PORT)], options);
    await sleep(2000);
    results.push(await repeat('gateway', run, () => runServerScenarios(run, WIELD_URL)));
    server.kill();
    await once(server, 'exit');
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
  upstream.kill();
  fixtures.kill();
  return results;
}

async function runClient() {
  const command = `${process.execPath} ${join(ROOT, 'test/support/conformance-client.mjs')}`;
  return Promise.all(RUNS.map((run) => repeat('client', run, () => runClientScenarios(run, command))));
}

function reasonOf(scenario) {
  const isNamed = (name) => name === scenario || (name.endsWith('*') && scenario.startsWith(name.slice(0, -1)));
  return Object.entries(REASONS).find(([, names]) => names.some(isNamed))?.[0];
}

function toPage(results) {
  const rows = results.map(({ role, version, revision, scenarios }) => {
    const passed = scenarios.filter(({ isPassed }) => isPassed).length;
    return `| ${role} | ${version} | ${revision} | ${passed} of ${scenarios.length} |`;
  });
  const byReason = new Map();
  for (const { scenarios } of results)
    for (const { name, isPassed } of scenarios)
      if (!isPassed) byReason.set(reasonOf(name), (byReason.get(reasonOf(name)) ?? new Set()).add(name));
  const failed = [...byReason].map(([reason, names]) => `| ${[...names].sort().join(', ')} | ${reason} |`);
  return [
    '# Conformance',
    '',
    'Results of the official conformance suite, written by `npm run conformance`. As a server and as a gateway, scenarios pass',
    "if they do three times in a row against one process. The gateway is in front of the suite's own server and, for tools",
    'that it lacks, of the server of the first rows, with `prefix = false`. The client is used like a person uses it, who runs',
    'the login commands that it suggests.',
    '',
    '| role | suite | revision | scenarios passed |',
    '|---|---|---|---|',
    ...rows,
    '',
    'Scenarios that do not pass:',
    '',
    '| scenarios | reason |',
    '|---|---|',
    ...failed,
    '',
  ].join('\n');
}

const roles = { server: runServer, gateway: runGateway, client: runClient };
const known = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {};
for (const [role, run] of Object.entries(roles))
  if (chosen.length === 0 || chosen.includes(role)) {
    known[role] = await run();
    writeFileSync(RESULTS, JSON.stringify(known));
  }
const missing = Object.keys(roles).filter((role) => known[role] === undefined);
if (missing.length > 0) console.log(`the page is not written: no results as ${missing.join(' and ')} yet`);
else
  writeFileSync(join(ROOT, 'docs/reports/conformance.md'), toPage(Object.keys(roles).flatMap((role) => known[role])));

const unexplained = Object.values(known).flatMap((results) =>
  results.flatMap(({ role, scenarios }) =>
    scenarios.flatMap(({ name, isPassed }) => (isPassed || reasonOf(name) !== undefined ? [] : [`${role}: ${name}`])),
  ),
);
if (unexplained.length > 0) {
  console.error(`without a reason: ${unexplained.join(', ')}`);
  process.exitCode = 1;
}
