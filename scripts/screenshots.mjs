// `node scripts/screenshots.mjs`: takes the two screenshots of the README, of a workspace in which an agent made real calls.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { chromium } from 'playwright-core';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BINARY = join(ROOT, 'dist/cli/wield.cjs');
const HEIGHTS = { light: 1040, dark: 720 };

const TOOLS = {
  'release.tool.mjs': `import { defineTool } from 'wield';

export default defineTool({
  name: 'release',
  description: 'Create a release and announce it.',
  inputSchema: {
    type: 'object',
    required: ['version', 'target'],
    properties: {
      version: { type: 'string', pattern: '^\\\\d+\\\\.\\\\d+\\\\.\\\\d+$', description: 'The new version' },
      target: {
        description: 'Where it is published',
        oneOf: [
          { type: 'object', required: ['registry'], properties: { registry: { const: 'npm' }, tag: { enum: ['latest', 'next'], default: 'latest' } } },
          { type: 'object', required: ['registry', 'bucket'], properties: { registry: { const: 's3' }, bucket: { type: 'string' } } },
        ],
      },
      notes: { type: ['string', 'null'], description: 'Release notes; null writes none' },
      announce: { type: 'array', items: { type: 'string', format: 'email' }, description: 'Who gets a mail' },
    },
  },
  execute: ({ version }) => \`released \${version}\`,
});
`,
  'drop-table':
    '#!/bin/sh\n# @description Drop a table of the staging database.\n# @param *table string Name of the table\n# @destructive\necho dropped\n',
  'search-docs':
    '#!/bin/sh\n# @description Search the documentation.\n# @param *query string What to look for\n# @readonly\necho "3 pages match $WIELD_PARAM_QUERY"\n',
  'fetch-logs':
    '#!/bin/sh\n# @description Read the last lines of the log of a service.\n# @param *service string Name of the service\n# @param lines integer How many\n# @readonly\necho "GET /orders 200"\n',
  'run-tests':
    '#!/bin/sh\n# @description Run the tests of a package.\n# @param package string Name of the package\necho "128 passed"\n',
};

const CONFIG = `[trust]
rules = ["drop-table($policy=deny)", "deploy", "*($policy=allow)"]

[mcpServers.everything]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'))}]
`;

const place = createPlace();
const children = [];
try {
  const url = await startPage();
  const agent = await connectAgent();
  await session(agent);
  await takeScreenshots(url);
  await agent.close();
} finally {
  const ended = children.map((child) => child.exitCode === null && once(child, 'exit'));
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(ended);
  rmSync(place.root, { recursive: true, force: true });
}

function createPlace() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'w-')));
  const [home, workdir] = [join(root, 'home'), join(root, 'shop')];
  const write = (file, text) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, 0o755);
  };
  cpSync(join(ROOT, 'scripts/demo'), join(workdir, '.agents/tools'), { recursive: true });
  for (const [name, text] of Object.entries(TOOLS)) write(join(workdir, '.agents/tools', name), text);
  write(join(home, '.wield/config.toml'), CONFIG);
  return { root, workdir, env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' } };
}

async function startPage() {
  await run('trust', '--yes');
  const child = start('ui', '--json');
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').once('data', (text) => resolve(JSON.parse(text).url));
    child.once('exit', (status) => reject(new Error(`wield ui exited with ${status}`)));
  });
}

function start(...args) {
  const { workdir: cwd, env } = place;
  const child = spawn(process.execPath, [BINARY, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

function run(...args) {
  return new Promise((resolve) => start(...args).once('close', resolve));
}

async function connectAgent() {
  const client = new Client({ name: 'claude-code', version: '1' });
  const { workdir: cwd, env } = place;
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [BINARY, 'serve'], cwd, env, stderr: 'ignore' }),
  );
  return client;
}

async function session(agent) {
  const call = (name, input) => agent.callTool({ name, arguments: input });
  await call('search-docs', { query: 'deploy' });
  await call('fetch-logs', { service: 'checkout', lines: 50 });
  await call('run-tests', { package: 'checkout' });
  await call('orders', {});
  await call('drop-table', { table: 'orders' }).catch(() => undefined);
  await call('fetch-logs', { service: 'checkout', lines: 'all' });
  await call('deploy', { branch: 'main' });
  await run('call', 'search-docs', '--query', 'rollback');
}

async function takeScreenshots(url) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const input = { version: '2.4.0', target: { registry: 'npm' }, notes: null };
  const views = { light: `/tools/release?input=${encodeURIComponent(JSON.stringify(input))}`, dark: '/inbox' };
  // One context: the address works once, and logs its browser in.
  const context = await browser.newContext();
  let address = url;
  for (const [colorScheme, view] of Object.entries(views)) {
    const page = await context.newPage();
    await page.setViewportSize({ width: 1280, height: HEIGHTS[colorScheme] });
    await page.emulateMedia({ colorScheme });
    await page.goto(address + view);
    address = `${new URL(url).origin}/#`;
    await page.getByLabel('Catalog').getByText('release', { exact: true }).waitFor();
    await page.getByLabel('Live calls').getByText('deploy').first().waitFor();
    if (view.startsWith('/tools')) {
      await page.getByRole('button', { name: 'Show plan' }).waitFor();
      await page.keyboard.press('r');
      await page.getByLabel('Plan and verdict').waitFor();
    } else await page.getByRole('button', { name: 'Approve once' }).waitFor();
    mkdirSync(join(ROOT, 'docs/images'), { recursive: true });
    await page.screenshot({ path: join(ROOT, `docs/images/page-${colorScheme}.png`) });
    await page.close();
  }
  await browser.close();
}
