// Runs the official conformance suite against wield as a server and as a gateway, and writes docs/reference/conformance.md.
// The suite, a newer Node and the suite's own server are kept in a cache folder (WIELD_CONFORMANCE_CACHE); the repository of
// the suite is cloned from WIELD_CONFORMANCE_REPO or GitHub.

import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CACHE = process.env.WIELD_CONFORMANCE_CACHE ?? join(homedir(), '.cache', 'wield-conformance');
const REPOSITORY = process.env.WIELD_CONFORMANCE_REPO ?? 'https://github.com/modelcontextprotocol/conformance';
const RELEASE = '0.1.16';
const PRERELEASE = '0.2.0-alpha.12';
const [SUITE_PORT, WIELD_PORT] = [4811, 4812];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Scenarios that do not pass, by reason.
const REASONS = JSON.parse(readFileSync(join(ROOT, 'test/support/conformance-reasons.json'), 'utf8'));

function install(name, packages) {
  const directory = join(CACHE, name);
  if (existsSync(join(directory, 'node_modules'))) return directory;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"private":true,"type":"module"}\n');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: directory, stdio: 'inherit' });
  return directory;
}

const node = join(install('node', ['node@24']), 'node_modules/node/bin/node');
const suites = {
  [RELEASE]: install('release', [`@modelcontextprotocol/conformance@${RELEASE}`]),
  [PRERELEASE]: install('prerelease', [
    `@modelcontextprotocol/conformance@${PRERELEASE}`,
    'tsx',
    'cors',
    'express',
    'zod',
  ]),
};
const clone = join(CACHE, 'repository');
if (!existsSync(clone)) execFileSync('git', ['clone', '--depth', '1', REPOSITORY, clone], { stdio: 'inherit' });
copyFileSync(
  join(clone, 'examples/servers/typescript/everything-server.ts'),
  join(suites[PRERELEASE], 'everything-server.ts'),
);

const RUNS = [
  { version: RELEASE, revision: '2025-11-25', args: [] },
  { version: PRERELEASE, revision: '2025-11-25', args: ['--requirements', '2025-11-25'] },
  { version: PRERELEASE, revision: '2026-07-28', args: ['--requirements', '2026-07-28'] },
];

async function runServer() {
  const server = spawn(process.execPath, [join(ROOT, 'test/support/conformance-server.mjs'), String(WIELD_PORT)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await sleep(2000);
  const results = RUNS.map((run) => runSuite('server', run));
  server.kill();
  return results;
}

async function runGateway() {
  const upstream = spawn(node, ['--import', 'tsx', 'everything-server.ts'], {
    cwd: suites[PRERELEASE],
    env: { ...process.env, PORT: String(SUITE_PORT) },
    stdio: 'ignore',
  });
  await sleep(4000);
  const results = [];
  for (const run of RUNS) {
    const home = mkdtempSync(join(tmpdir(), 'wield-conformance-'));
    const entry = { url: `http://localhost:${SUITE_PORT}/mcp`, prefix: false, protocol: run.revision };
    mkdirSync(join(home, '.agents'));
    mkdirSync(join(home, 'work'));
    writeFileSync(join(home, '.agents/mcp.json'), JSON.stringify({ mcpServers: { suite: entry } }));
    const options = {
      cwd: join(home, 'work'),
      env: { ...process.env, HOME: home, WIELD_HOME: join(home, '.wield') },
      stdio: 'ignore',
    };
    const wield = join(ROOT, 'dist/cli/wield.cjs');
    execFileSync(process.execPath, [wield, 'mcp', 'refresh', 'suite'], options);
    const server = spawn(process.execPath, [wield, 'serve', '--http', String(WIELD_PORT)], options);
    await sleep(2000);
    results.push(runSuite('gateway', run));
    server.kill();
    rmSync(home, { recursive: true });
  }
  upstream.kill();
  return results;
}

function runSuite(role, { version, revision, args }) {
  const output = mkdtempSync(join(tmpdir(), 'wield-conformance-'));
  const suite = join(suites[version], 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const url = `http://localhost:${WIELD_PORT}/mcp`;
  try {
    execFileSync(node, [suite, 'server', '--url', url, '-o', output, ...args], { stdio: 'ignore', timeout: 900_000 });
  } catch {
    // It exits with 1 if a scenario fails.
  }
  const scenarios = readdirSync(output).map((directory) => {
    const checks = JSON.parse(readFileSync(join(output, directory, 'checks.json'), 'utf8'));
    const name = /^server-(.*?)-\d{4}-\d\d-\d\dT/.exec(directory)[1];
    return { name, isPassed: !checks.some(({ status }) => status === 'FAILURE') };
  });
  rmSync(output, { recursive: true });
  return { role, version, revision, scenarios };
}

function reasonOf(scenario) {
  const isNamed = (name) => name === scenario || (name.endsWith('*') && scenario.startsWith(name.slice(0, -1)));
  return Object.entries(REASONS).find(([, names]) => names.some(isNamed))?.[0] ?? 'not yet';
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
    'Results of the official conformance suite, written by `npm run conformance`. As a gateway, wield is in front of the',
    "suite's own server, with `prefix = false`.",
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

const results = [...(await runServer()), ...(await runGateway())];
writeFileSync(join(ROOT, 'docs/reference/conformance.md'), toPage(results));
for (const { role, version, revision, scenarios } of results)
  console.log(role, version, revision, `${scenarios.filter(({ isPassed }) => isPassed).length}/${scenarios.length}`);
