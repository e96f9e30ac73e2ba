// Runs the official conformance suite against `wield serve` as a user starts it, as a server and as a gateway, three times in a
// row against one process each, and as a client, and writes docs/reports/conformance.md. Arguments choose roles; others keep
// their last result. `--once`: one round. Fails if a scenario fails without a reason in test/support/conformance-reasons.json.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE, node, RUNS, runClientScenarios, runServerScenarios, serverDirectory } from './conformance-suite.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const RESULTS = join(CACHE, 'results.json');
// Scenarios that do not pass, by reason.
const REASONS = JSON.parse(readFileSync(join(ROOT, 'test/support/conformance-reasons.json'), 'utf8'));
const [SUITE_PORT, WIELD_PORT, FIXTURES_PORT] = [4811, 4812, 4813];
const START_MS = 60_000;
const urlOf = (port) => `http://localhost:${port}/mcp`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const rounds = process.argv.includes('--once') ? 1 : 3;

// A scenario passes if it passes in every round.
function repeat(role, run, runOnce) {
  const { version, revision } = run;
  // The suite starts a server for each scenario for clients, so there is no process to keep.
  const all = Array.from({ length: role === 'client' ? 1 : rounds }, () => runOnce());
  const scenarios = all[0].map(({ name }) => {
    const own = all.map((round) => round.find((scenario) => scenario.name === name));
    return {
      name,
      isPassed: own.every((scenario) => scenario?.isPassed),
      isScored: own.some((scenario) => scenario?.isScored !== false),
      warnings: [...new Set(own.flatMap((scenario) => scenario?.warnings ?? []))],
    };
  });
  const failed = scenarios.filter(({ isPassed }) => !isPassed).map(({ name }) => name);
  const warned = scenarios.filter(({ warnings }) => warnings.length > 0).map(({ name }) => name);
  const counted = `${scenarios.length - failed.length}/${scenarios.length}`;
  console.log(
    role,
    version,
    revision,
    counted,
    failed.join(' '),
    warned.length > 0 ? `warnings: ${warned.join(' ')}` : '',
  );
  return { role, version, revision, scenarios };
}

const children = new Set();
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    for (const child of children) child.kill();
    process.exit(1);
  });

// Starts a process, calls `use` when it answers HTTP requests, and ends it, whatever happens.
async function withServer(port, [command, ...args], options, use) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
  children.add(child);
  const ended = once(child, 'exit');
  try {
    const until = performance.now() + START_MS;
    while (!(await fetch(urlOf(port)).then(Boolean, () => false))) {
      if (child.exitCode !== null || performance.now() > until)
        throw new Error(`${command} does not listen on ${port}`);
      await sleep(100);
    }
    return await use();
  } finally {
    child.kill();
    await ended;
    children.delete(child);
  }
}

// Runs `wield serve --http` for a user with these files and nothing else.
async function withWield(port, files, use) {
  const home = mkdtempSync(join(tmpdir(), 'wield-conformance-'));
  try {
    mkdirSync(join(home, 'work'));
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), content);
    }
    const options = { cwd: join(home, 'work'), env: { ...process.env, HOME: home, WIELD_HOME: join(home, '.wield') } };
    const command = [process.execPath, join(ROOT, 'dist/cli/wield.cjs'), 'serve', '--http', String(port)];
    return await withServer(port, command, options, use);
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

const SKILL = `---
name: tea
description: Makes tea. Use it for questions about tea.
---
See [the kinds](references/kinds.md).
`;
const FIXTURES = {
  '.agents/tools/conformance.tool.mjs': readFileSync(join(ROOT, 'test/support/conformance-tools.mjs'), 'utf8'),
  '.agents/skills/tea/SKILL.md': SKILL,
  '.agents/skills/tea/references/kinds.md': 'Green and black.\n',
};
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

async function runServer() {
  return withWield(WIELD_PORT, FIXTURES, () =>
    RUNS.map((run) => repeat('server', run, () => runServerScenarios(run, urlOf(WIELD_PORT)))),
  );
}

async function runGateway() {
  const suite = [node, '--import', 'tsx', 'everything-server.ts'];
  const options = { cwd: serverDirectory, env: { ...process.env, PORT: String(SUITE_PORT) } };
  const mcpServers = {
    suite: { url: urlOf(SUITE_PORT), prefix: false },
    fixtures: { url: urlOf(FIXTURES_PORT), prefix: false, allow: [...ONLY_OURS, '*skill*'] },
  };
  return withServer(SUITE_PORT, suite, options, () =>
    withWield(FIXTURES_PORT, FIXTURES, () =>
      withWield(WIELD_PORT, { '.agents/mcp.json': JSON.stringify({ mcpServers }) }, () =>
        RUNS.map((run) => repeat('gateway', run, () => runServerScenarios(run, urlOf(WIELD_PORT)))),
      ),
    ),
  );
}

async function runClient() {
  const command = `${process.execPath} ${join(ROOT, 'test/support/conformance-client.mjs')}`;
  return RUNS.map((run) => repeat('client', run, () => runClientScenarios(run, command)));
}

function reasonOf(scenario) {
  const isNamed = (name) => name === scenario || (name.endsWith('*') && scenario.startsWith(name.slice(0, -1)));
  return Object.entries(REASONS).find(([, names]) => names.some(isNamed))?.[0];
}

function toRow({ role, version, revision, scenarios }) {
  const scored = scenarios.filter(({ isScored = true }) => isScored);
  const passed = scored.filter(({ isPassed }) => isPassed).length;
  const warned = scored.filter(({ warnings = [] }) => warnings.length > 0).length;
  const without = scenarios.length - scored.length;
  return `| ${role} | ${version} | ${revision} | ${passed} of ${scored.length} | ${warned} | ${without} |`;
}

function toPage(results) {
  const byReason = new Map();
  for (const { scenarios } of results)
    for (const { name, isPassed } of scenarios)
      if (!isPassed) byReason.set(reasonOf(name), (byReason.get(reasonOf(name)) ?? new Set()).add(name));
  const failed = [...byReason].map(([reason, names]) => `| ${[...names].sort().join(', ')} | ${reason} |`);
  const warnings = new Map();
  for (const { role, scenarios } of results)
    for (const { name, warnings: own = [] } of scenarios)
      for (const text of own) warnings.set(`${role} ${name} ${text}`, `| ${role} | ${name} | ${text} |`);
  return [
    '# Conformance',
    '',
    'Results of the official conformance suite, written by `npm run conformance`. As a server and as a gateway, it is run against',
    '`wield serve --http` with its defaults, all three revisions and three rounds of each against one process; a scenario passes if',
    'it does in every round. The server has the fixtures of the suite as a file in `~/.agents/tools`. The gateway is in front of the',
    "suite's own server and, for tools that it lacks, of the server of the first rows, with `prefix = false`, and `allow` for the second. The",
    'client is used like a person uses it, who runs the login commands that it suggests.',
    '',
    '| role | suite | revision | scenarios passed | with warnings | without a score |',
    '|---|---|---|---|---|---|',
    ...results.map(toRow),
    '',
    'Scenarios that do not pass:',
    '',
    '| scenarios | reason |',
    '|---|---|',
    ...failed,
    '',
    ...(warnings.size === 0
      ? []
      : ['Warnings:', '', '| role | scenario | warning |', '|---|---|---|', ...[...warnings.values()].sort(), '']),
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
